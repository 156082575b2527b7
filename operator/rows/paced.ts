import { pause } from '../../kubernetes/clock.ts'
import type { Clock } from '../../kubernetes/clock.ts'

export interface Pacing {
  clock: Clock
  signal: AbortSignal
}

/** After a batch that took t, the next one waits for t times this, so that PostgreSQL serves others meanwhile. */
const PAUSE_RATIO = 3
/** On a busy machine the batches alone take minutes. */
const LONGEST_PAUSE_MILLIS = 200

/** Repeats a batch while it resolves with true, and until `signal` is aborted. */
export async function paced({ clock, signal }: Pacing, batch: () => Promise<boolean>): Promise<void> {
  while (!signal.aborted) {
    const began = clock.now()
    if (!(await batch())) return
    await pause(clock, Math.min((clock.now() - began) * PAUSE_RATIO, LONGEST_PAUSE_MILLIS), signal)
  }
}
