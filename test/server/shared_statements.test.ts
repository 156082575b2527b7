import { expect, it } from 'vitest'
import { shareStatements } from '../../server/shared_statements.ts'

/** A statement that answers when it is told to. */
function slowStatement(keyOf?: (question: string) => string) {
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
  })
  return { question, asked, running }
}

const aTurn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5))

it('asks what came in one turn in one statement, and answers each its own', async () => {
  const { question, asked, running } = slowStatement()
  const answers = Promise.all(['a', 'b', 'c'].map(question))
  await aTurn()
  expect(asked).toEqual([['a', 'b', 'c']])
  running[0]?.finish()
  expect(await answers).toEqual(['a!', 'b!', 'c!'])
})

it('asks again for what came later: no answer is older than its question', async () => {
  const { question, asked, running } = slowStatement()
  const first = question('a')
  await aTurn()
  const second = question('a')
  await aTurn()
  expect(asked).toEqual([['a'], ['a']])
  for (const { finish } of running) finish()
  expect(await Promise.all([first, second])).toEqual(['a!', 'a!'])
})

it('has few statements under way, and asks the rest together as soon as one ends', async () => {
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

it('keeps questions of one key apart, in their order', async () => {
  const { question, asked, running } = slowStatement((text) => text.slice(0, 1))
  const answers = Promise.all(['a1', 'b1', 'a2', 'a3'].map(question))
  await aTurn()
  expect(asked).toEqual([['a1', 'b1'], ['a2'], ['a3']])
  for (const { finish } of running) finish()
  expect(await answers).toEqual(['a1!', 'b1!', 'a2!', 'a3!'])
})

it('fails for all that share a statement, and for nobody else', async () => {
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
