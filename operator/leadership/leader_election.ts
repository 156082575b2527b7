import type { Logger } from 'pino'
import { backoffMillis, pause } from '../../kubernetes/clock.ts'
import type { Clock } from '../../kubernetes/clock.ts'
import { heldRecord, isFree, releasedRecord } from './lease_record.ts'
import type { LeaseRecord, Observed, StoredLease } from './lease_record.ts'
import type { LeaseClient } from './lease_client.ts'

/** The three times of a Lease, as in client-go. */
export interface LeaseTimes {
  /** After which another process may take a Lease that was not renewed. */
  durationSeconds: number
  /** After which a holder that could not renew stops writing. Less than the duration: no other process leads yet. */
  renewDeadlineMillis: number
  retryMillis: number
}

const LEASE_TIMES: LeaseTimes = { durationSeconds: 15, renewDeadlineMillis: 10_000, retryMillis: 2_000 }

export interface ElectionOptions {
  lease: LeaseClient
  /** The identity of this process; unique per start. */
  holder: string
  clock: Clock
  now: () => Date
  random: () => number
  log: Logger
  times?: LeaseTimes
  /** Called when the Lease shows that etcd was restored from a backup. The term ends as well. */
  onRestored?: () => void
}

/** The time in which this process holds the Lease, once. */
export interface Term {
  /** False as soon as another process may lead, also before this process has read that from the Lease. */
  isLeading(): boolean
  /** Aborted when the Lease is lost or the election is stopped. */
  signal: AbortSignal
}

export interface Election {
  /** Asked before each write to the API server. */
  isLeading(): boolean
  /** Rejects with what `runTerm` rejected with; resolves after `stop`, and when `runTerm` ended by itself. */
  ended: Promise<void>
  /** Ends the present term. Another one follows if no other process takes the Lease. */
  endTerm(): void
  /** Ends the term, waits for `runTerm`, then releases the Lease. */
  stop(): Promise<void>
}

/** Does the work of one term until `term.signal` is aborted, then ends it and resolves. */
export type RunTerm = (term: Term) => Promise<void>
export type Elect = (runTerm: RunTerm) => Election

/**
 * Calls `runTerm` whenever this process holds the Lease, one term at a time, until it is stopped. The Lease keeps two
 * processes from writing to the API server. It cannot stop what a suspended process sends later: Postgres refuses that
 * by its epoch, which every term takes first.
 */
export function runElection(options: ElectionOptions, runTerm: RunTerm): Election {
  const { lease, holder, clock, now, random, log, times = LEASE_TIMES, onRestored } = options
  const stopping = new AbortController()
  let observed: Observed | undefined
  /** When the call that last took or renewed the Lease began. */
  let renewedAt: number | undefined
  /** `renewTime` of the renewals that the Lease may hold: the last one that was answered, and those sent since. */
  let sent: string[] = []
  let ending = new AbortController()
  let failures = 0

  function isLeading(): boolean {
    return renewedAt !== undefined && clock.now() - renewedAt < times.renewDeadlineMillis
  }

  /** Takes or renews the Lease; true when this process holds it. */
  async function tryHold(): Promise<boolean> {
    // The holder renews without a read; the write fails if the Lease changed.
    const isHeld = observed?.record.holderIdentity === holder && (await write(observed))
    if (isHeld) return true
    const before = observed?.record.holderIdentity
    observe(await lease.read())
    if (before === holder && isFormer(observed?.record)) {
      log.warn({ holder }, 'the Lease was deleted or has a former state, as after a restore of etcd: the term ends')
      // A Lease that is gone was more likely deleted by hand.
      if (observed) onRestored?.()
      return false
    }
    const after = observed?.record.holderIdentity
    if (after && after !== before && after !== holder) log.info({ holder: after }, 'another process holds the Lease')
    const isOurs = observed === undefined || after === holder || isFree(observed, clock.now(), times.durationSeconds)
    return isOurs && write(observed)
  }

  /**
   * Whether the Lease is not as this process left it, although no other process took it. The cluster may have been
   * restored from a backup, and then everything that this process received from it belongs to a history that has ended.
   */
  function isFormer(record: LeaseRecord | undefined): boolean {
    if (!record) return renewedAt !== undefined
    return record.holderIdentity === holder && !sent.includes(record.renewTime ?? '')
  }

  async function write(before: StoredLease | undefined): Promise<boolean> {
    const began = clock.now()
    const { durationSeconds } = times
    const record = heldRecord({ holder, durationSeconds, now: now(), before: before?.record })
    sent.push(record.renewTime)
    const written = await lease.write(record, before)
    if (!written) return false
    sent = [record.renewTime]
    observe(written)
    renewedAt = began
    return true
  }

  function observe(stored: StoredLease | undefined): void {
    if (!stored) observed = undefined
    else if (stored.resourceVersion !== observed?.resourceVersion) observed = { ...stored, at: clock.now() }
  }

  /** `unknown` while the API server does not answer. */
  async function attempt(): Promise<'held' | 'taken' | 'unknown'> {
    try {
      const isHeld = await tryHold()
      failures = 0
      return isHeld ? 'held' : 'taken'
    } catch (error) {
      failures += 1
      if (failures === 1) log.warn({ err: error }, 'the Lease cannot be read or written; the operator retries')
      return 'unknown'
    }
  }

  /** Spread, so that waiting processes do not send their requests at the same moment. */
  function nextTry(signal: AbortSignal): Promise<void> {
    const { retryMillis } = times
    const millis = failures > 0 ? backoffMillis(failures, retryMillis / 4, retryMillis, random) : retryMillis
    return pause(clock, millis * (1 + random() / 5), signal)
  }

  /** Resolves when the Lease is lost, or with `signal`. */
  async function renew(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await nextTry(signal)
      // Also before the call: a process that was suspended must not renew and continue the same term.
      if (signal.aborted || !isLeading()) return
      const state = await attempt()
      if (state === 'taken' || !isLeading()) return
    }
  }

  /** One term; true when another may follow. */
  async function hold(): Promise<boolean> {
    log.info({ holder }, 'this process holds the Lease')
    const over = new AbortController()
    let lost = false
    const work = runTerm({ signal: over.signal, isLeading: () => !lost && isLeading() }).finally(() => over.abort())
    // Awaited below; prevents an unhandled rejection until then.
    work.catch(() => undefined)
    ending = new AbortController()
    await renew(AbortSignal.any([stopping.signal, over.signal, ending.signal]))

    const isDone = over.signal.aborted
    if (!stopping.signal.aborted) {
      lost = true
      renewedAt = undefined
      if (!isDone) log.warn({ holder }, 'the Lease is lost: this process writes nothing until it holds the Lease again')
    }
    over.abort()
    await work
    return !stopping.signal.aborted && !isDone
  }

  async function run(): Promise<void> {
    try {
      let mayLead = true
      while (mayLead && !stopping.signal.aborted) {
        if ((await attempt()) === 'held') mayLead = await hold()
        else await nextTry(stopping.signal)
      }
    } finally {
      await release().catch((error: unknown) => {
        log.debug({ err: error }, 'the Lease was not released; another process can take it when it expires')
      })
    }
  }

  async function release(): Promise<void> {
    renewedAt = undefined
    const stored = await lease.read()
    if (stored?.record.holderIdentity === holder) await lease.write(releasedRecord(stored.record, now()), stored)
  }

  const ended = run()
  // Prevents an unhandled rejection until the caller awaits it.
  ended.catch(() => undefined)
  return {
    isLeading,
    ended,
    endTerm: () => ending.abort(),
    async stop() {
      stopping.abort()
      await ended.catch(() => undefined)
    },
  }
}

/** One term that lasts until `stop`: no other process works on the same resources. */
export function withoutElection(runTerm: RunTerm): Election {
  const stopping = new AbortController()
  const ended = runTerm({ isLeading: () => true, signal: stopping.signal })
  return {
    isLeading: () => true,
    ended,
    endTerm: () => {},
    async stop() {
      stopping.abort()
      await ended.catch(() => undefined)
    },
  }
}
