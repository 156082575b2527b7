import { setTimeout as sleep } from 'node:timers/promises'
import { PlainError } from '../../process/plain_error.ts'

const LOOK_MILLIS = 100
const READY_MILLIS = 60_000
const QUIET_MILLIS = 1_200
const SETTLED_MILLIS = 6_000

export interface UntilReadyOptions {
  name: string
  host: string
  /** Of `/readyz`. */
  port: number
  /** Settles when the process ended. */
  firstEnd: Promise<number | string>
  signal: AbortSignal
}

/**
 * Waits until a process says that it is ready. Throws PlainError when it ends before, because what keeps it from
 * starting once keeps it from starting again, or when it takes too long.
 */
export async function untilReady({ name, host, port, firstEnd, signal }: UntilReadyOptions): Promise<void> {
  let ended: number | string | undefined
  void firstEnd.then((how) => (ended = how))
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}/readyz`
  let last = 'it does not answer'
  for (let waited = 0; waited < READY_MILLIS; waited += LOOK_MILLIS) {
    signal.throwIfAborted()
    if (ended !== undefined)
      throw new PlainError(`the ${name} ended (${ended}) before it was ready: its last lines say why`)
    const answer = await readiness(url)
    if (answer === 'ready') return
    last = answer
    await sleep(LOOK_MILLIS, undefined, { signal })
  }
  throw new PlainError(`the ${name} is not ready after ${READY_MILLIS / 1000} s: ${last}`)
}

async function readiness(url: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(3_000) })
    return response.ok ? 'ready' : (await response.text()).replaceAll(/\s+/g, ' ')
  } catch {
    return 'it does not answer'
  }
}

/**
 * The table of what is ready, once it has stopped changing; but no later than a person would look at it. What then
 * still waits says so itself.
 */
export async function untilSettled(table: () => string[], signal: AbortSignal): Promise<string[]> {
  const began = performance.now()
  let last = table()
  let changed = began
  for (;;) {
    await sleep(LOOK_MILLIS, undefined, { signal })
    const present = table()
    const at = performance.now()
    if (present.join('\n') !== last.join('\n')) changed = at
    last = present
    if (at - changed > QUIET_MILLIS || at - began > SETTLED_MILLIS) return present
  }
}
