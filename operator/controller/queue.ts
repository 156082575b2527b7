import { backoffMillis } from '../../kubernetes/clock.ts'
import type { Clock } from '../../kubernetes/clock.ts'
import { fairLane } from './fair_lane.ts'
import type { FairLane } from './fair_lane.ts'

/** Where a key waits: `front` for a resource that just changed, `back` for one that is reconciled again without a change. */
export type Lane = 'front' | 'back'

/** Keys to work on, of the namespaces in turn. A key is in one worker at a time, and is queued at most once. */
export interface WorkQueue {
  /** Queues a key. A key that is in a worker is worked on once more afterwards. */
  add: (key: string, lane?: Lane) => void
  /** Starts nothing more; resolves when the workers are done. */
  stop: () => Promise<void>
  stats: () => QueueStats
}

export interface QueueStats {
  /** Keys that wait for a worker. */
  ready: number
  /** Keys that wait for a time: a retry, an expiry. */
  waiting: number
  running: number
  /** Failures since the start. */
  retries: number
  /** How long the oldest ready key has waited. */
  oldestMillis: number
}

export interface QueueFailure {
  key: string
  error: unknown
  /** In a row, this one included. */
  failures: number
  retryMillis: number
}

export interface QueueOptions {
  workers: number
  /**
   * Works on one key. Resolves with the milliseconds until the key is queued again, or undefined; a rejection is
   * retried with backoff.
   */
  work: (key: string) => Promise<number | undefined>
  /** True for errors that concern every key: the whole queue pauses, and no failure is counted. */
  isOutage?: (error: unknown) => boolean
  /** Called for each failure. Must not throw. */
  onFailure?: (failure: QueueFailure) => void
  clock: Clock
  /** From 0 up to 1. */
  random: () => number
}

const FIRST_RETRY_MILLIS = 200
const LONGEST_RETRY_MILLIS = 60_000
const FIRST_PAUSE_MILLIS = 250
/** Work continues within seconds of the end of an outage. */
const LONGEST_PAUSE_MILLIS = 4_000
/** One start in this many is from the back lane, so that a busy front lane does not starve it. */
const BACK_SHARE = 4

export function createQueue(options: QueueOptions): WorkQueue {
  const { workers, work, isOutage = () => false, onFailure = () => {}, clock, random } = options
  const lanes: Record<Lane, FairLane> = { front: fairLane(), back: fairLane() }
  const waiting = new Map<string, { due: number; cancel: () => void }>()
  const running = new Map<string, { again: Lane | undefined }>()
  const failures = new Map<string, number>()
  let retries = 0
  let starts = 0
  let outages = 0
  let cancelPause: (() => void) | undefined
  let stopped = false
  const drained = Promise.withResolvers<void>()

  function add(key: string, lane: Lane = 'front'): void {
    if (stopped) return
    const inWorker = running.get(key)
    if (inWorker) {
      if (inWorker.again !== 'front') inWorker.again = lane
      return
    }
    stopWaiting(key)
    if (lanes.front.has(key) || lanes[lane].has(key)) return
    lanes[lane].add(key, lanes.back.remove(key) ?? clock.now())
    start()
  }

  function addAfter(key: string, millis: number): void {
    if (stopped) return
    const due = clock.now() + millis
    const present = waiting.get(key)
    if (present && present.due <= due) return
    present?.cancel()
    const cancel = clock.after(millis, () => {
      waiting.delete(key)
      add(key, 'back')
    })
    waiting.set(key, { due, cancel })
  }

  function stopWaiting(key: string): void {
    waiting.get(key)?.cancel()
    waiting.delete(key)
  }

  function start(): void {
    if (stopped || cancelPause) return
    while (running.size < workers) {
      const key = next()
      if (key === undefined) return
      running.set(key, { again: undefined })
      void run(key)
    }
  }

  function next(): string | undefined {
    const order: Lane[] = starts % BACK_SHARE === BACK_SHARE - 1 ? ['back', 'front'] : ['front', 'back']
    for (const lane of order) {
      const key = lanes[lane].take()
      if (key === undefined) continue
      starts += 1
      return key
    }
    return undefined
  }

  async function run(key: string): Promise<void> {
    let after: number | undefined
    let outage = false
    try {
      after = await work(key)
      failures.delete(key)
      outages = 0
    } catch (error) {
      outage = isOutage(error)
      after = outage ? 0 : fail(key, error)
      if (outage) pauseAll()
    }
    const again = running.get(key)?.again
    running.delete(key)
    if (again) add(key, again)
    else if (outage) add(key, 'front')
    else if (after !== undefined) addAfter(key, after)
    if (stopped && running.size === 0) drained.resolve()
    start()
  }

  function fail(key: string, error: unknown): number {
    const count = (failures.get(key) ?? 0) + 1
    failures.set(key, count)
    retries += 1
    const retryMillis = backoffMillis(count, FIRST_RETRY_MILLIS, LONGEST_RETRY_MILLIS, random)
    onFailure({ key, error, failures: count, retryMillis })
    return retryMillis
  }

  /** Workers start nothing for a while. Further outages in this time do not prolong it. */
  function pauseAll(): void {
    if (cancelPause) return
    outages += 1
    cancelPause = clock.after(backoffMillis(outages, FIRST_PAUSE_MILLIS, LONGEST_PAUSE_MILLIS, random), () => {
      cancelPause = undefined
      start()
    })
  }

  async function stop(): Promise<void> {
    stopped = true
    cancelPause?.()
    for (const key of waiting.keys()) stopWaiting(key)
    if (running.size > 0) await drained.promise
  }

  function stats(): QueueStats {
    const oldest = Math.min(lanes.front.oldest(), lanes.back.oldest())
    return {
      ready: lanes.front.size() + lanes.back.size(),
      waiting: waiting.size,
      running: running.size,
      retries,
      oldestMillis: Number.isFinite(oldest) ? clock.now() - oldest : 0,
    }
  }

  return { add, stop, stats }
}
