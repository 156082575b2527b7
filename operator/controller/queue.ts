import type { Clock } from '../../kubernetes/clock.ts'

/** Where a key goes: `front` for what somebody just changed, `back` for what is merely looked at again. */
export type Lane = 'front' | 'back'

/** Keys that want to be worked on. A key is in one worker at a time, and waits in the queue at most once. */
export interface WorkQueue {
  /** Asks for a key to be worked on as soon as possible; one that is being worked on is worked on once more. */
  add: (key: string, lane?: Lane) => void
  /** Lets nothing begin any more; resolves when what has begun is done. */
  stop: () => Promise<void>
  stats: () => QueueStats
}

export interface QueueStats {
  /** Keys that could be worked on now. */
  ready: number
  /** Keys that wait for a time: a retry, or a look at something that expires. */
  waiting: number
  running: number
  /** Failures since the start. */
  retries: number
  /** How long the oldest ready key has waited. */
  oldestMillis: number
}

export interface QueueOptions {
  workers: number
  /**
   * Works on one key. Resolves with the milliseconds until it wants to look again, or undefined; rejects to be tried
   * again with backoff.
   */
  work: (key: string) => Promise<number | undefined>
  /** True for failures that are no fault of the key: everything then waits, and the key has not failed. */
  isOutage?: (error: unknown) => boolean
  /** Told of each failure. Must not throw. */
  onFailure?: (failure: { key: string; error: unknown; failures: number; retryMillis: number }) => void
  clock: Clock
  /** From 0 up to 1. */
  random: () => number
}

const FIRST_RETRY_MILLIS = 200
const LONGEST_RETRY_MILLIS = 60_000
const FIRST_HOLD_MILLIS = 250
// Service has to be back within seconds of the outage's end.
const LONGEST_HOLD_MILLIS = 4_000
/** Of so many starts one is from the back, however much comes in at the front. */
const BACK_SHARE = 4

/** Backoff before try number `failures` + 1: doubling, capped, and spread over its upper half. */
export function backoffMillis(failures: number, first: number, longest: number, random: () => number): number {
  const whole = Math.min(longest, first * 2 ** Math.min(failures - 1, 30))
  return Math.round(whole / 2 + (whole / 2) * random())
}

export function createQueue(options: QueueOptions): WorkQueue {
  const { workers, work, isOutage = () => false, onFailure = () => {}, clock, random } = options
  // Maps keep their order, so each lane is a FIFO that knows since when a key waits.
  const lanes: Record<Lane, Map<string, number>> = { front: new Map(), back: new Map() }
  const waiting = new Map<string, { due: number; cancel: () => void }>()
  const running = new Map<string, { again: Lane | undefined }>()
  const failures = new Map<string, number>()
  let retries = 0
  let starts = 0
  let outages = 0
  let held: (() => void) | undefined
  let stopped = false
  const drained = Promise.withResolvers<void>()

  function add(key: string, lane: Lane = 'front'): void {
    if (stopped) return
    const atWork = running.get(key)
    if (atWork) {
      if (atWork.again !== 'front') atWork.again = lane
      return
    }
    stopWaiting(key)
    if (lanes.front.has(key) || lanes[lane].has(key)) return
    const since = lanes.back.get(key) ?? clock.now()
    lanes.back.delete(key)
    lanes[lane].set(key, since)
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
    if (stopped || held) return
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
      const [key] = lanes[lane].keys()
      if (key === undefined) continue
      lanes[lane].delete(key)
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
      if (outage) hold()
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

  /** Nothing begins for a while. Whatever fails meanwhile in the same way does not prolong it. */
  function hold(): void {
    if (held) return
    outages += 1
    held = clock.after(backoffMillis(outages, FIRST_HOLD_MILLIS, LONGEST_HOLD_MILLIS, random), () => {
      held = undefined
      start()
    })
  }

  async function stop(): Promise<void> {
    stopped = true
    held?.()
    for (const key of waiting.keys()) stopWaiting(key)
    if (running.size > 0) await drained.promise
  }

  function stats(): QueueStats {
    const oldest = Math.min(...Object.values(lanes).flatMap((lane) => [...lane.values()].slice(0, 1)))
    return {
      ready: lanes.front.size + lanes.back.size,
      waiting: waiting.size,
      running: running.size,
      retries,
      oldestMillis: Number.isFinite(oldest) ? clock.now() - oldest : 0,
    }
  }

  return { add, stop, stats }
}
