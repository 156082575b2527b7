import type { Logger } from 'pino'
import { pause } from '../../kubernetes/clock.ts'
import type { Clock } from '../../kubernetes/clock.ts'
import { releaseMemory } from './release_memory.ts'
import { Deposed } from '../../store/operator/epoch.ts'
import type { Controllers } from '../controllers.ts'
import type { DriftReport } from '../rows/drift.ts'
import { sweepExpired, sweepRows } from '../rows/sweep.ts'
import type { SweepDeps } from '../rows/sweep.ts'
import type { Kind } from '../source/resource.ts'

export interface ResyncOptions {
  sweep: SweepDeps
  /** Kinds that the sweep at the start left out, because their list was not complete. */
  unswept: Kind[]
  drift: DriftReport
  controllers: Controllers
  resyncMillis: number
  clock: Clock
  random: () => number
  log: Logger
  onDeposed: (error: Deposed) => void
  signal: AbortSignal
}

const CHECK_MILLIS = 10_000
/** So many keys in the queues make a collection worth its time once they are done. */
const BUSY_KEYS = 500

/**
 * Until `signal` is aborted: every `resyncMillis`, give or take a tenth, reads all rows, sweeps, enqueues every
 * resource and deletes expired rows. In between it sweeps the kinds whose list has become complete.
 */
export async function runResync(options: ResyncOptions): Promise<void> {
  const { sweep, drift, controllers, clock, random, log, signal } = options
  const { source, store, rows } = sweep
  let { unswept } = options
  let resyncAt = nextResync()
  let wasBusy = true

  for (;;) {
    await pause(clock, CHECK_MILLIS, signal)
    if (signal.aborted) return
    releaseMemoryWhenIdle()
    try {
      if (clock.now() >= resyncAt) {
        await resync()
        resyncAt = nextResync()
      } else if (unswept.some((kind) => source.completeList(kind))) {
        unswept = await sweepRows(sweep)
      }
    } catch (error) {
      if (error instanceof Deposed) options.onDeposed(error)
      else log.warn({ err: error, retryMillis: CHECK_MILLIS }, 'the resync failed; the operator retries it')
    }
  }

  async function resync(): Promise<void> {
    drift.reset()
    for (const row of await rows.load(store.db)) drift.report(row)
    unswept = await sweepRows(sweep)
    controllers.enqueueAll()
    await sweepExpired(store, options)
  }

  /** Spread, so that operators that started together do not resync together. */
  function nextResync(): number {
    return clock.now() + options.resyncMillis * (0.9 + 0.2 * random())
  }

  /** V8 keeps the heap that a pass over thousands of resources grew. */
  function releaseMemoryWhenIdle(): void {
    const pending = controllers.pending()
    if (pending >= BUSY_KEYS) wasBusy = true
    else if (pending === 0 && wasBusy) {
      releaseMemory()
      wasBusy = false
    }
  }
}
