import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ROOT, sourceFiles } from '../support/source_files.ts'

// The catalogue of bad inputs and faults numbers its rows; the ones up to 67 are about tokens, introspection, field
// encryption. A test says in its title which rows it is for: "row 7: …", "rows 11 to 14: …", "row 22, 26: …".

const ROWS = Array.from({ length: 67 }, (_, at) => at + 1)

/** Rows without a test, and why. */
const WITHOUT_TEST: Record<number, string> = {
  18: 'equal times of refused logins are a figure of the bench (bench/rows/equal_time.ts): a test asserts no duration',
  47: 'there is no client_credentials grant; asking for it is row 4',
  52: 'there is no browser logout, so nothing redirects',
}

test('every row up to 67 has a test, or a reason for having none', () => {
  const named = rowsNamed()
  const missing = ROWS.filter((row) => !named.has(row) && WITHOUT_TEST[row] === undefined)
  expect(missing).toEqual([])
})

test('a row that has a test needs no reason', () => {
  const named = rowsNamed()
  expect(Object.keys(WITHOUT_TEST).filter((row) => named.has(Number(row)))).toEqual([])
})

test('rows are read from titles as they are written', () => {
  expect([...rowsIn(`test('row 7: x', …); describe("row 22, 26: y"); it(\`rows 11 to 14 and 36: z\`)`)]).toEqual([
    7, 22, 26, 11, 12, 13, 14, 36,
  ])
  expect([...rowsIn(`// row 9 of a comment\ntest('a table of 3 rows, row by row', …)`)]).toEqual([])
})

test('every test that protocol_rows.md names is there', () => {
  const texts = new Map(sourceFiles(['test']).map(({ path, text }) => [path, text]))
  const rows = readFileSync(`${ROOT}/test/acceptance/protocol_rows.md`, 'utf8').split('\n')
  const named = rows
    .filter((line) => /^\| .*`: /.test(line))
    .flatMap((line) => line.replace(/^\|.*?\| | \|$/g, '').split(/; (?=`)/))
  expect(named.length).toBeGreaterThan(100)
  const missing = named.filter((each) => {
    const [, file = '', title = ''] = /^`(.*?)`: (.*)$/.exec(each) ?? []
    return title === '' || !texts.get(`test/${file}`)?.includes(title)
  })
  expect(missing).toEqual([])
})

function rowsNamed(): Set<number> {
  const tests = sourceFiles(['test']).filter(({ path }) => !path.includes('acceptance/coverage'))
  return new Set(tests.flatMap(({ text }) => [...rowsIn(text)]))
}

/** The rows that the texts of a file begin with: titles of tests, of suites and of the cases of a table. */
function* rowsIn(text: string): Generator<number> {
  for (const [, list = ''] of text.matchAll(/['"`]rows? (\d+(?:(?:, (?:row )?| and | to )\d+)*):? /g)) {
    for (const [, first = '', last = first] of list.matchAll(/(\d+)(?: to (\d+))?/g)) {
      for (let row = Number(first); row <= Number(last); row++) yield row
    }
  }
}
