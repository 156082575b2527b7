import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ROOT, sourceFiles } from '../support/source_files.ts'

// A test names its rows of rows.md at the start of its title: "row 7: …", "rows 11 to 14: …", "row 22, 26: …".

const page = readFileSync(`${ROOT}/test/acceptance/rows.md`, 'utf8')
const [catalogue = '', exceptions = ''] = page.split('## Rows without a test')

test('every row of the catalogue has a test, or a reason for having none', () => {
  const tested = testedRows()
  const excepted = new Set(tableRows(exceptions))
  expect(tableRows(catalogue).filter((row) => !tested.has(row) && !excepted.has(row))).toEqual([])
})

test('the catalogue numbers its rows from 1 to 145, and titles name no other', () => {
  const rows = tableRows(catalogue)
  expect(rows).toEqual(Array.from({ length: 145 }, (_, at) => at + 1))
  expect([...testedRows()].filter((row) => !rows.includes(row))).toEqual([])
})

test('a row that has a test needs no reason', () => {
  const tested = testedRows()
  expect(tableRows(exceptions).filter((row) => tested.has(row))).toEqual([])
})

test('rows are read from titles', () => {
  expect([...rowsIn(`test('row 7: x', …); describe("row 22, 26: y"); it(\`rows 11 to 14 and 36: z\`)`)]).toEqual([
    7, 22, 26, 11, 12, 13, 14, 36,
  ])
  expect([...rowsIn(`// row 9 of a comment\ntest('a table of 3 rows, row by row', …)`)]).toEqual([])
})

test('every test that protocol_rows.md names exists', () => {
  const texts = new Map(sourceFiles(['test']).map(({ path, text }) => [path, text]))
  const rows = readFileSync(`${ROOT}/test/acceptance/protocol_rows.md`, 'utf8').split('\n')
  const named = rows
    .filter((line) => /^\| .*`: /.test(line))
    .flatMap((line) => line.replace(/^\|.*?\| | \|$/g, '').split(/; (?=`)/))
  expect(named.length).toBeGreaterThan(100)
  const missing = named.filter((each) => {
    const [, file = '', title = ''] = /^`(.*?)`: (.*)$/.exec(each) ?? []
    return title === '' || !texts.get(file)?.includes(title)
  })
  expect(missing).toEqual([])
})

function testedRows(): Set<number> {
  const tests = sourceFiles(['test']).filter(({ path }) => !path.includes('acceptance/coverage'))
  return new Set(tests.flatMap(({ text }) => [...rowsIn(text)]))
}

/** The rows that the strings of a file begin with: titles of tests, of suites and of the cases of a table. */
function* rowsIn(text: string): Generator<number> {
  for (const [, list = ''] of text.matchAll(/['"`]rows? (\d+(?:(?:, (?:row )?| and | to )\d+)*):? /g)) {
    for (const [, first = '', last = first] of list.matchAll(/(\d+)(?: to (\d+))?/g)) yield* range(first, last)
  }
}

/** The numbers in the first column of Markdown tables; `129–145` is a range. */
function tableRows(markdown: string): number[] {
  const cells = [...markdown.matchAll(/^\| (\d+)(?:–(\d+))? \|/gm)]
  return cells.flatMap(([, first = '', last = first]) => [...range(first, last)])
}

function* range(first: string, last: string): Generator<number> {
  for (let number = Number(first); number <= Number(last); number++) yield number
}
