import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'

const MODULES = fileURLToPath(new URL('../../process/', import.meta.url))
const children: ReturnType<typeof spawn>[] = []

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

/** Runs `body` with a `shutdown` in a process of its own, which the shutdown ends. */
async function startProcess(body: string, deadlineMillis = 20_000) {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program(body, deadlineMillis)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  const lines: Record<string, unknown>[] = []
  let waiting: { message: string; resolve: () => void }[] = []
  let rest = ''
  child.stdout.on('data', (chunk: Buffer) => {
    const parts = (rest + chunk.toString()).split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts.map((part) => JSON.parse(part)))
    waiting = waiting.filter(({ message, resolve }) => {
      const isLogged = lines.some(({ msg }) => msg === message)
      if (isLogged) resolve()
      return !isLogged
    })
  })
  const exited = once(child, 'close').then(([code]) => Number(code))
  const logged = (message: string): Promise<void> =>
    new Promise((resolve) => {
      if (lines.some(({ msg }) => msg === message)) resolve()
      else waiting.push({ message, resolve })
    })
  return { child, exited, logged, messages: () => lines.map(({ msg }) => msg), lines }
}

const program = (body: string, deadlineMillis: number): string => `
  import { handleShutdown } from '${MODULES}shutdown.ts'
  import { createLog } from '${MODULES}log.ts'
  import { setTimeout as sleep } from 'node:timers/promises'
  const log = createLog({ name: 'test', level: 'info' })
  const shutdown = handleShutdown({ log, deadlineMillis: ${deadlineMillis} })
  const alive = setInterval(() => {}, 1000)
  ${body}
  log.info('started')
`

test.for(['SIGTERM', 'SIGINT'] as const)('%s runs the steps, last added first, and exits with 0', async (signal) => {
  const { child, exited, logged, messages } = await startProcess(`
    shutdown.add('pool', () => { log.info('pool closed') })
    shutdown.add('http', async () => { await sleep(50); log.info('http drained') })
  `)
  await logged('started')
  child.kill(signal)
  expect(await exited).toBe(0)
  expect(messages()).toEqual(['started', 'shutting down', 'http drained', 'pool closed', 'shut down'])
})

test('row 71: a second SIGTERM ends the process at once', async () => {
  const { child, exited, logged, messages } = await startProcess(`
    shutdown.add('slow', async () => { log.info('waiting'); await sleep(100_000) })
  `)
  await logged('started')
  child.kill('SIGTERM')
  await logged('waiting')
  child.kill('SIGTERM')
  expect(await exited).toBe(1)
  expect(messages()).not.toContain('the shutdown took too long')
})

test('a Ctrl-C that arrives twice, from the terminal and from npm, counts once', async () => {
  const { child, exited, logged } = await startProcess(`
    shutdown.add('slow', async () => { process.kill(process.pid, 'SIGINT'); await sleep(50) })
  `)
  await logged('started')
  child.kill('SIGINT')
  expect(await exited).toBe(0)
})

test('row 71: after SIGTERM during the start, parts that start later are ended too', async () => {
  const { child, exited, logged, messages } = await startProcess(`
    shutdown.add('first', async () => { log.info('first is ending'); await sleep(200); log.info('first ended') })
    log.info('starting')
    while (!shutdown.signal.aborted) await sleep(10)
    shutdown.add('second', () => { log.info('second ended') })
  `)
  await logged('starting')
  child.kill('SIGTERM')
  expect(await exited).toBe(0)
  expect(messages()).toEqual(expect.arrayContaining(['first ended', 'second ended', 'shut down']))
})

test('at the deadline the process exits with 1, although a step still runs', async () => {
  const { child, exited, logged, lines } = await startProcess(`shutdown.add('stuck', () => sleep(100_000))`, 400)
  await logged('started')
  child.kill('SIGTERM')
  expect(await exited).toBe(1)
  expect(lines.at(-1)).toMatchObject({ msg: 'the shutdown took too long', waitingFor: 'stuck' })
})

test('after a step that failed the next one runs, and the exit code is 1', async () => {
  const { child, exited, logged, messages } = await startProcess(`
    shutdown.add('pool', () => { log.info('pool closed') })
    shutdown.add('http', async () => { throw new Error('no') })
  `)
  await logged('started')
  child.kill('SIGTERM')
  expect(await exited).toBe(1)
  expect(messages()).toContain('pool closed')
})

test.for([
  ['unhandledRejection', `void Promise.reject(new Error('not awaited'))`],
  ['uncaughtException', `setTimeout(() => { throw new Error('not caught') })`],
])('row 75: %s is logged and ends the process with 1', async ([fault, body]) => {
  const { exited, lines } = await startProcess(body ?? '')
  expect(await exited).toBe(1)
  expect(lines.at(-1)).toMatchObject({
    level: 'fatal',
    msg: fault,
    err: { message: expect.stringMatching(/^not (awaited|caught)$/) },
  })
})
