import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const COMMAND = fileURLToPath(new URL('../realmkeeper.ts', import.meta.url))
const FIRST_WAIT_MILLIS = 500
const LONGEST_WAIT_MILLIS = 10_000
/** A process that ran this long was well: its next end is waited out from the beginning again. */
const WELL_AFTER_MILLIS = 30_000

export interface ChildOptions {
  /** A command of realmkeeper: `operator`, `server`. */
  name: string
  args: string[]
  env: NodeJS.ProcessEnv
  /** Each line that it writes. */
  onLine: (line: string) => void
  /** Called when it ended by itself; it starts again after a wait. */
  onEnd: (code: number | string, waitMillis: number) => void
}

export interface Child {
  /** Resolves, with how it ended, when it ends for the first time. */
  firstEnd: Promise<number | string>
  /** From now on it is started again when it ends; before, what ended it would end it again. */
  keep(): void
  /** Has it drain and end, and start no more. */
  stop(): Promise<void>
}

/** Runs one process of this checkout; once kept, it is started again when it dies, after a wait that doubles. */
export function runChild(options: ChildOptions): Child {
  let kept = false
  let wait = FIRST_WAIT_MILLIS
  let timer: NodeJS.Timeout | undefined
  const { promise: firstEnd, resolve: reportFirstEnd } = Promise.withResolvers<number | string>()
  let current = start()

  function start(): ChildProcess {
    const began = performance.now()
    const child = startOnce(options)
    child.once('close', (code, signal) => {
      const how = code ?? signal ?? 1
      reportFirstEnd(how)
      if (!kept) return
      if (performance.now() - began > WELL_AFTER_MILLIS) wait = FIRST_WAIT_MILLIS
      options.onEnd(how, wait)
      timer = setTimeout(() => {
        current = start()
      }, wait)
      wait = Math.min(wait * 2, LONGEST_WAIT_MILLIS)
    })
    return child
  }

  return {
    firstEnd,
    keep() {
      kept = true
    },
    async stop() {
      kept = false
      clearTimeout(timer)
      if (current.exitCode !== null || current.signalCode !== null) return
      const ended = new Promise((resolve) => current.once('close', resolve))
      current.kill('SIGTERM')
      await ended
    },
  }
}

function startOnce({ name, args, env, onLine }: ChildOptions): ChildProcess {
  const child = spawn(process.execPath, [COMMAND, name, ...args], {
    env,
    // The channel tells the child when we are gone, however we went.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // Not in our process group: Ctrl-C reaches us alone, and we tell the children once.
    detached: true,
  })
  for (const stream of [child.stdout, child.stderr]) {
    if (stream) createInterface({ input: stream }).on('line', onLine)
  }
  child.once('error', (error) => onLine(`${name} cannot be started: ${error.message}`))
  return child
}
