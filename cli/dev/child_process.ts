import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { PlainError } from '../../process/plain_error.ts'

const COMMAND = fileURLToPath(new URL('../realmkeeper.ts', import.meta.url))
const FIRST_WAIT_MILLIS = 500
const LONGEST_WAIT_MILLIS = 10_000
/** After this time without a failure the wait before a restart is the first one again. */
const STABLE_AFTER_MILLIS = 30_000
const READY_CHECK_MILLIS = 100
const READY_TIMEOUT_MILLIS = 60_000

export interface ChildOptions {
  /** A command of realmkeeper. */
  name: 'operator' | 'server'
  args: string[]
  env: NodeJS.ProcessEnv
  host: string
  /** Of `/readyz`. */
  healthPort: number
  /** Receives each line that the process writes. */
  onLine: (line: string) => void
  /** Called when the process ended by itself and before it is started again. */
  onRestart: (ended: number | string, waitMillis: number) => void
}

export interface Child {
  /**
   * Resolves when the process reports that it is ready; from then on it is started again when it ends. Throws
   * PlainError when it ends before, since it would end again, and when it takes too long.
   */
  untilReady(signal: AbortSignal): Promise<void>
  /** Sends SIGTERM and waits for the end; the process is not started again. */
  stop(): Promise<void>
}

/** Runs a command of this checkout as a process. The wait between restarts doubles. */
export function startChild(options: ChildOptions): Child {
  let restarts = false
  let ended: number | string | undefined
  let wait = FIRST_WAIT_MILLIS
  let timer: NodeJS.Timeout | undefined
  let current = start()

  function start(): ChildProcess {
    const began = performance.now()
    const child = spawnCommand(options)
    child.once('close', (code, signal) => {
      ended = code ?? signal ?? 1
      if (!restarts) return
      if (performance.now() - began > STABLE_AFTER_MILLIS) wait = FIRST_WAIT_MILLIS
      options.onRestart(ended, wait)
      timer = setTimeout(() => {
        current = start()
      }, wait)
      wait = Math.min(wait * 2, LONGEST_WAIT_MILLIS)
    })
    return child
  }

  return {
    async untilReady(signal) {
      const { name } = options
      let answer = ''
      for (let waited = 0; waited < READY_TIMEOUT_MILLIS; waited += READY_CHECK_MILLIS) {
        signal.throwIfAborted()
        if (ended !== undefined) {
          throw new PlainError(`the ${name} ended (${ended}) before it was ready: see the last lines of its log above`)
        }
        answer = await readiness(options)
        if (answer === 'ready') {
          restarts = true
          return
        }
        await sleep(READY_CHECK_MILLIS, undefined, { signal })
      }
      throw new PlainError(`the ${name} is not ready after ${READY_TIMEOUT_MILLIS / 1000} s: ${answer}`)
    },
    async stop() {
      restarts = false
      clearTimeout(timer)
      if (current.exitCode !== null || current.signalCode !== null) return
      const closed = new Promise((resolve) => current.once('close', resolve))
      current.kill('SIGTERM')
      await closed
    },
  }
}

function spawnCommand({ name, args, env, onLine }: ChildOptions): ChildProcess {
  const child = spawn(process.execPath, [COMMAND, name, ...args], {
    env,
    // When this process ends in any way the channel closes, and the child ends too.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // In a process group of its own: Ctrl-C reaches this process only, which then stops the child.
    detached: true,
  })
  for (const stream of [child.stdout, child.stderr]) {
    if (stream) createInterface({ input: stream }).on('line', onLine)
  }
  child.once('error', (error) => onLine(`${name} cannot be started: ${error.message}`))
  return child
}

async function readiness({ host, healthPort }: ChildOptions): Promise<string> {
  try {
    const url = `http://${host.includes(':') ? `[${host}]` : host}:${healthPort}/readyz`
    const response = await fetch(url, { signal: AbortSignal.timeout(3_000) })
    return response.ok ? 'ready' : (await response.text()).replaceAll(/\s+/g, ' ')
  } catch {
    return 'it does not answer'
  }
}
