import type { Logger } from 'pino'
import type { Clock } from '../../kubernetes/clock.ts'
import { heldRecord, isFree, releasedRecord } from './lease_record.ts'
import type { Observed } from './lease_record.ts'
import type { LeaseClient, StoredLease } from './lease_client.ts'
import { backoffMillis } from '../controller/queue.ts'

/** How long one leads without renewing, and how soon that is seen. */
export interface LeaseTimes {
  /** After which another may take a Lease that was not renewed. */
  durationSeconds: number
  /** After which a holder that could not renew stops writing; less than the duration, so that nobody else leads yet. */
  renewDeadlineMillis: number
  retryMillis: number
}

export const LEASE_TIMES: LeaseTimes = { durationSeconds: 15, renewDeadlineMillis: 10_000, retryMillis: 2_000 }

export interface ElectionOptions {
  lease: LeaseClient
  /** Names this process; no other one ever uses the same name. */
  holder: string
  clock: Clock
  now: () => Date
  random: () => number
  log: Logger
  times?: LeaseTimes
}

/** One time of holding the Lease. */
export interface Term {
  /**
   * False from the moment on at which another process may lead, also before anybody noticed: asked before each write.
   */
  isLeading(): boolean
  /** Aborted when the Lease was lost, or when this process is to stop. */
  signal: AbortSignal
}

export interface Election {
  isLeading(): boolean
  /** Rejects with what `lead` rejected with; resolves after `stop`, and when `lead` ended by itself. */
  ended: Promise<void>
  /** Ends the term, waits for `lead`, then gives the Lease back. */
  stop(): Promise<void>
}

/**
 * Calls `lead` whenever this process holds the Lease, one term at a time, until it is stopped. `lead` does its work
 * until `term.signal` is aborted, then ends it and resolves. The Lease keeps others from writing to the API server; what
 * a process that was asleep still sends to Postgres is refused there, by the epoch that `lead` takes first.
 */
export function runWhileLeading(options: ElectionOptions, lead: (term: Term) => Promise<void>): Election {
  const { lease, holder, clock, now, random, log, times = LEASE_TIMES } = options
  const stopping = new AbortController()
  let observed: Observed | undefined
  /** When the call began by which the Lease was last taken or kept. */
  let renewedAt: number | undefined
  let failures = 0

  function isLeading(): boolean {
    return renewedAt !== undefined && clock.now() - renewedAt < times.renewDeadlineMillis
  }

  /** Takes or keeps the Lease; true when this process holds it. */
  async function tryHold(): Promise<boolean> {
    // Whoever holds it knows it, and writes without a look; one that changed is looked at.
    const isHeld = observed?.record.holderIdentity === holder && (await write(observed))
    if (isHeld) return true
    const before = observed?.record.holderIdentity
    observe(await lease.read())
    const after = observed?.record.holderIdentity
    if (after && after !== before && after !== holder) log.info({ holder: after }, 'another process holds the Lease')
    const isOurs = observed === undefined || after === holder || isFree(observed, clock.now(), times.durationSeconds)
    return isOurs && write(observed)
  }

  async function write(before: StoredLease | undefined): Promise<boolean> {
    const began = clock.now()
    const { durationSeconds } = times
    const record = heldRecord({ holder, durationSeconds, now: now(), before: before?.record })
    const written = await lease.write(record, before)
    if (!written) return false
    observe(written)
    renewedAt = began
    return true
  }

  function observe(stored: StoredLease | undefined): void {
    if (!stored) observed = undefined
    else if (stored.resourceVersion !== observed?.resourceVersion) observed = { ...stored, at: clock.now() }
  }

  /** `unknown` while the API server does not answer. */
  async function hold(): Promise<'held' | 'taken' | 'unknown'> {
    try {
      const isHeld = await tryHold()
      failures = 0
      return isHeld ? 'held' : 'taken'
    } catch (error) {
      failures += 1
      if (failures === 1) log.warn({ err: error }, 'the Lease cannot be read or written; it is tried again')
      return 'unknown'
    }
  }

  /** Spread, so that those who wait do not ask at the same moment. */
  function nextTry(signal: AbortSignal): Promise<void> {
    const { retryMillis } = times
    const millis = failures > 0 ? backoffMillis(failures, retryMillis / 4, retryMillis, random) : retryMillis
    return pause(clock, millis * (1 + random() / 5), signal)
  }

  async function acquire(): Promise<boolean> {
    while (!stopping.signal.aborted) {
      if ((await hold()) === 'held') return true
      await nextTry(stopping.signal)
    }
    return false
  }

  /** Resolves when the Lease is lost, or with `signal`. */
  async function renew(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await nextTry(signal)
      // Asked before the call as well: who was asleep does not take the Lease back and go on as if nothing had been.
      if (signal.aborted || !isLeading()) return
      const state = await hold()
      if (state === 'taken' || !isLeading()) return
    }
  }

  /** One term; true when another may follow. */
  async function serve(): Promise<boolean> {
    log.info({ holder }, 'this process holds the Lease')
    const over = new AbortController()
    let lost = false
    const work = lead({ signal: over.signal, isLeading: () => !lost && isLeading() }).finally(() => over.abort())
    // Looked at below, which is later than it may fail.
    work.catch(() => undefined)
    await renew(AbortSignal.any([stopping.signal, over.signal]))

    const isDone = over.signal.aborted
    if (!stopping.signal.aborted) {
      lost = true
      renewedAt = undefined
      if (!isDone) log.warn({ holder }, 'the Lease is lost: this process writes nothing until it holds it again')
    }
    over.abort()
    await work
    return !stopping.signal.aborted && !isDone
  }

  async function run(): Promise<void> {
    while ((await acquire()) && (await serve()));
  }

  async function release(): Promise<void> {
    renewedAt = undefined
    const stored = await lease.read()
    if (stored?.record.holderIdentity === holder) await lease.write(releasedRecord(stored.record, now()), stored)
  }

  async function runAndRelease(): Promise<void> {
    try {
      await run()
    } finally {
      await release().catch((error: unknown) => {
        log.debug({ err: error }, 'the Lease was not given back; it runs out')
      })
    }
  }

  const ended = runAndRelease()
  // Whoever waits for it is told; until then it is nobody's surprise.
  ended.catch(() => undefined)
  return {
    isLeading,
    ended,
    async stop() {
      stopping.abort()
      await ended.catch(() => undefined)
    },
  }
}

function pause(clock: Clock, millis: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const end = (): void => {
      cancel()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const cancel = clock.after(millis, end)
    signal.addEventListener('abort', end)
  })
}
