import { expect, it } from 'vitest'
import { shareStatements } from '../../../server/sessions/shared_statements.ts'

/** A statement that the test answers. */
function slowStatement(keyOf?: (question: string) => string, patienceMillis?: number) {
  const asked: string[][] = []
  const running: { finish: () => void; fail: (error: Error) => void }[] = []
  const question = shareStatements<string, string>({
    ask: (questions) => {
      asked.push(questions)
      return new Promise((resolve, reject) => {
        running.push({ finish: () => resolve(questions.map((each) => `${each}!`)), fail: reject })
      })
    },
    ...(keyOf && { keyOf }),
    ...(patienceMillis !== undefined && { patienceMillis }),
  })
  return { question, asked, running }
}

/** A statement starts in the turn after its question, and each further one a turn later. */
async function aTurn(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
}

it('answers the questions of one turn of the event loop with one statement', async () => {
  const { question, asked, running } = slowStatement()
  const answers = Promise.all(['a', 'b', 'c'].map(question))
  await aTurn()
  expect(asked).toEqual([['a', 'b', 'c']])
  running[0]?.finish()
  expect(await answers).toEqual(['a!', 'b!', 'c!'])
})

it('sends later questions in a new statement: no answer is older than its question', async () => {
  const { question, asked, running } = slowStatement()
  const first = question('a')
  await aTurn()
  const second = question('a')
  await aTurn()
  expect(asked).toEqual([['a'], ['a']])
  for (const { finish } of running) finish()
  expect(await Promise.all([first, second])).toEqual(['a!', 'a!'])
})

it('has few statements in flight, and the rest share the next one', async () => {
  const { question, asked, running } = slowStatement()
  const answers: Promise<string>[] = []
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
    answers.push(question(name))
    await aTurn()
  }
  expect(asked).toEqual([['a'], ['b'], ['c']])
  running[1]?.finish()
  await aTurn()
  expect(asked[3]).toEqual(['d', 'e', 'f'])
  for (const { finish } of running) finish()
  expect(await Promise.all(answers)).toHaveLength(6)
})

it('never shares a statement between questions of one key, and preserves their order', async () => {
  const { question, asked, running } = slowStatement((text) => text.slice(0, 1))
  const answers = Promise.all(['a1', 'b1', 'a2', 'a3'].map(question))
  await aTurn()
  expect(asked).toEqual([['a1', 'b1'], ['a2'], ['a3']])
  for (const { finish } of running) finish()
  expect(await answers).toEqual(['a1!', 'b1!', 'a2!', 'a3!'])
})

it('rejects every caller that shares a failed statement, and no other', async () => {
  const { question, running } = slowStatement()
  const failing = [question('a'), question('b')]
  await aTurn()
  const fine = question('c')
  await aTurn()
  running[0]?.fail(new Error('away'))
  running[1]?.finish()
  expect((await Promise.allSettled(failing)).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await fine).toBe('c!')
})

it('takes at most a hundred questions at a time', async () => {
  const { question, asked, running } = slowStatement()
  const answers = Promise.all(Array.from({ length: 150 }, (_, i) => question(`${i}`)))
  await aTurn()
  expect(asked.map(({ length }) => length)).toEqual([100, 50])
  for (const { finish } of running) finish()
  expect(new Set(await answers).size).toBe(150)
})

it('row 78: a question that has waited long is rejected with the failed statement before it', async () => {
  const { question, asked, running } = slowStatement(undefined, 20)
  const outcomes: Promise<string>[] = []
  const ask = async (name: string): Promise<void> => {
    outcomes.push(question(name).catch((error: Error) => error.message))
    await aTurn()
  }
  for (const name of ['a', 'b', 'c', 'd', 'e']) await ask(name)
  await new Promise((resolve) => setTimeout(resolve, 100))
  running[1]?.fail(new Error('timeout'))
  for (const at of [1, 3, 4]) expect(await outcomes[at]).toBe('timeout')
  expect(asked).toHaveLength(3)
  // One that comes then is asked.
  await ask('f')
  expect(asked[3]).toEqual(['f'])
  for (const { finish } of running) finish()
  expect(await Promise.all(outcomes)).toEqual(['a!', 'timeout', 'c!', 'timeout', 'timeout', 'f!'])
})

it('what has not waited for long is asked when the statement before it fails', async () => {
  const { question, asked, running } = slowStatement(undefined, 60_000)
  const outcomes: Promise<string>[] = []
  for (const name of ['a', 'b', 'c', 'd']) {
    outcomes.push(question(name).catch((error: Error) => error.message))
    await aTurn()
  }
  running[0]?.fail(new Error('one connection was lost'))
  expect(await outcomes[0]).toBe('one connection was lost')
  await aTurn()
  expect(asked[3]).toEqual(['d'])
  for (const { finish } of running) finish()
  expect(await outcomes[3]).toBe('d!')
})
