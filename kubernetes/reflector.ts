// Over 250 lines: listing, watching and recovering from failures of either are one loop.
import type { Logger } from 'pino'
import { METADATA, METADATA_LIST } from './api_client.ts'
import type { ApiClient } from './api_client.ts'
import { ApiError, canResume, isStatus, unreachable } from './api_error.ts'
import { isLater } from './api_object.ts'
import type { ApiObject } from './api_object.ts'
import { backoffMillis, pause } from './clock.ts'
import type { Clock } from './clock.ts'
import { listAll } from './list_all.ts'
import { watchOnce } from './watch_stream.ts'
import type { WatchEvent } from './watch_stream.ts'

/**
 * Receives listed and watched objects. A method may resolve with a function that takes them over: it is called when
 * `state` already counts them as received. What a method rejects is listed or watched again.
 */
export interface Sink {
  /** Called before a list is requested. What the sink receives from elsewhere after this call may be newer than the list. */
  listBegins?(): void
  /** Receives every object that exists. */
  replace(objects: ApiObject[], list: ListState): Promise<(() => void) | void>
  /** Receives what happened since, without bookmarks. */
  apply(events: WatchEvent[]): Promise<(() => void) | void>
}

/** The state of the API server that a list shows. */
export interface ListState {
  resourceVersion: string
  /**
   * The resource version is below an earlier one: etcd was restored from a backup. Resource versions received before
   * this list belong to a history that has ended.
   */
  isRestored: boolean
}

/** Milliseconds, except where the name says otherwise. */
export interface WatchTimings {
  /** A watch without any event for so long is opened again. API servers send a bookmark every minute or two. */
  stallMillis: number
  firstRetryMillis: number
  longestRetryMillis: number
  /** A failure after a watch that was open for so long counts as the first one in a row. */
  healthyMillis: number
  /** Least and most time after which the API server ends a watch. */
  watchSeconds: readonly [number, number]
}

export const WATCH_TIMINGS: WatchTimings = {
  stallMillis: 150_000,
  firstRetryMillis: 250,
  longestRetryMillis: 15_000,
  healthyMillis: 5_000,
  watchSeconds: [300, 600],
}

/** What all reflectors of a process share. */
export interface ReflectorDeps {
  client: ApiClient
  clock: Clock
  random: () => number
  log: Logger
  timings?: Partial<WatchTimings>
}

export interface ReflectorOptions extends ReflectorDeps {
  /** For people: `users in namespace shop`. */
  what: string
  path: string
  fieldSelector?: string
  /** Requests only `metadata` of the objects. */
  metadataOnly?: boolean
  /** Applied to each listed object before the sink receives it. */
  trim?: (object: ApiObject) => ApiObject
  sink: Sink
  /** Called after every failure; `inARow` counts the failures since the last success. */
  onFailure?: (error: unknown, inARow: number) => void
  /** Called when a list was taken over that shows that etcd was restored from a backup. */
  onRestored?: () => void
}

export interface WatchState {
  what: string
  /** A complete list was received, and every later event was or will be received. */
  complete: boolean
  /** Milliseconds since the API server last proved that no event is missing; undefined before the first list. */
  ageMillis: number | undefined
  lists: number
  failures: number
  /** The present problem, for people. */
  problem: string | undefined
}

/** Keeps a sink equal to the objects under a path of the API server, across every failure of the connection. */
export interface Reflector {
  start(): void
  /** Resolves when the first list was received, or the API server refused it (403, 404). The list is then tried again. */
  firstList: Promise<void>
  /** Ends a wait between two tries. */
  retryNow(): void
  /** Resolves when a list that began after the call was received or refused, or when the reflector stops. */
  relist(): Promise<void>
  state(): WatchState
  stop(): Promise<void>
}

/** After more failed tries than this to open a watch where the last one ended, everything is listed again. */
const MAX_FAILED_OPENS = 4

export function createReflector(options: ReflectorOptions): Reflector {
  const { what, path, fieldSelector, metadataOnly = false, trim, sink, client, clock, random, log } = options
  const { onFailure, onRestored } = options
  const timings = { ...WATCH_TIMINGS, ...options.timings }
  const query = { fieldSelector }
  const stopping = new AbortController()
  const { signal } = stopping
  const firstList = Promise.withResolvers<void>()
  let running: Promise<void> = Promise.resolve()
  let waiting = new AbortController()
  let round = new AbortController()
  /** Callers of `relist` whose list has not begun. */
  const relisters: (() => void)[] = []

  /** Where the watch continues; undefined when a list has to come first. */
  let resourceVersion: string | undefined
  /** The latest one received. */
  let latest: string | undefined
  let provenAt: number | undefined
  let openedAt: number | undefined
  let lists = 0
  let failures = 0
  let failuresInARow = 0
  let failedOpens = 0
  let stallsInARow = 0
  let problem: string | undefined
  let isReported = false

  async function run(): Promise<void> {
    while (!signal.aborted) {
      openedAt = undefined
      round = new AbortController()
      try {
        if (resourceVersion === undefined || relisters.length > 0 || (await mustListAgain())) await list()
        // `relist` may have been called during the list.
        if (relisters.length === 0) await watch()
      } catch (error) {
        if (!signal.aborted && !round.signal.aborted) await failed(error)
      }
    }
    answerRelisters()
  }

  function answerRelisters(count = relisters.length): void {
    firstList.resolve()
    for (const resolve of relisters.splice(0, count)) resolve()
  }

  async function list(): Promise<void> {
    const callers = relisters.length
    sink.listBegins?.()
    const request = { path, query, signal, ...(metadataOnly && { accept: METADATA_LIST }) }
    const listed = await listAll(client, request, trim)
    const isRestored = latest !== undefined && isLater(latest, listed.resourceVersion)
    const takeOver = await sink.replace(listed.objects, { resourceVersion: listed.resourceVersion, isRestored })
    if (signal.aborted) return
    if (isRestored) {
      const versions = { before: latest, now: listed.resourceVersion }
      log.warn({ watch: what, ...versions }, 'the resource version went back: etcd was restored from a backup')
    }
    resourceVersion = listed.resourceVersion
    latest = resourceVersion
    lists += 1
    proven()
    if (takeOver) takeOver()
    answerRelisters(callers)
    if (isRestored) onRestored?.()
  }

  /**
   * Whether a watch must not continue at its resource version. After etcd was restored from a backup, the API server
   * accepts a resource version from the future: it then sends nothing, and later skips what happened up to there. A
   * list of one object suffices to compare, because a list without a resource version is never out of date.
   */
  async function mustListAgain(): Promise<boolean> {
    // The whole list is as small.
    if (fieldSelector !== undefined || resourceVersion === undefined) return true
    const request = { path, query: { ...query, limit: 1 }, signal, accept: METADATA_LIST }
    const { metadata } = await client.list({ ...request, method: 'GET' })
    return isLater(resourceVersion, metadata.resourceVersion)
  }

  async function watch(): Promise<void> {
    if (resourceVersion === undefined) return
    const [least, most] = timings.watchSeconds
    let received = false
    const end = await watchOnce({
      client,
      request: { path, query, ...(metadataOnly && { accept: METADATA }) },
      resourceVersion,
      timeoutSeconds: Math.round(least + (most - least) * random()),
      stallMillis: timings.stallMillis,
      clock,
      signal: AbortSignal.any([signal, round.signal]),
      onOpen() {
        openedAt = clock.now()
        failedOpens = 0
      },
      async onEvents(events) {
        await take(events)
        received = true
      },
    })
    if (end === 'stalled') return stalled()
    if (openMillis() >= timings.healthyMillis) failuresInARow = 0
    // Prevents a loop without a pause when the API server keeps ending watches at once.
    else if (!received) throw unreachable(`watch ${path}`, 'it ended at once')
  }

  async function take(events: WatchEvent[]): Promise<void> {
    const last = events.at(-1)?.object.metadata.resourceVersion ?? ''
    if (resourceVersion !== undefined && isLater(resourceVersion, last)) {
      resourceVersion = undefined
      throw new Error(`watch ${path}: the API server sent an older resource version`)
    }
    const changes = events.filter(({ type }) => type !== 'BOOKMARK')
    const takeOver = changes.length > 0 ? await sink.apply(changes) : undefined
    if (signal.aborted) return
    resourceVersion = last
    latest = last
    proven()
    if (takeOver) takeOver()
  }

  /** A new connection helps when the old one was dead. After a second stall only a list shows what was missed. */
  function stalled(): void {
    stallsInARow += 1
    log.warn({ watch: what, stalls: stallsInARow }, 'a watch sent no event for too long; it is opened again')
    if (stallsInARow > 1) resourceVersion = undefined
  }

  function proven(): void {
    provenAt = clock.now()
    stallsInARow = 0
    if (isReported) log.info({ watch: what }, 'the watch works again')
    isReported = false
    problem = undefined
  }

  function openMillis(): number {
    return openedAt === undefined ? 0 : clock.now() - openedAt
  }

  async function failed(error: unknown): Promise<void> {
    failures += 1
    failuresInARow = openMillis() > timings.healthyMillis ? 1 : failuresInARow + 1
    failedOpens = openedAt === undefined ? failedOpens + 1 : 0
    if (!canResume(error) || failedOpens > MAX_FAILED_OPENS) resourceVersion = undefined
    if (isStatus(error, 403, 404)) answerRelisters()
    report(error)
    onFailure?.(error, failuresInARow)
    const { firstRetryMillis, longestRetryMillis } = timings
    const backoff = backoffMillis(failuresInARow, firstRetryMillis, longestRetryMillis, random)
    const requested = error instanceof ApiError ? (error.retryAfterMillis ?? 0) : 0
    // Spread, so that watches that received the same Retry-After do not return together.
    waiting = new AbortController()
    await pause(clock, Math.max(backoff, requested * (1 + random() / 4)), waiting.signal)
  }

  /** One broken connection is normal, and a right may arrive moments after the object: the second failure is logged. */
  function report(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error)
    if (failuresInARow > 1 && !isReported) {
      isReported = true
      log.warn({ err: error, watch: what }, `${what} cannot be watched; the watch is tried again`)
    } else {
      log.debug({ err: error, watch: what, failuresInARow }, 'a watch failed; it is tried again')
    }
    if (failuresInARow > 1 || !canResume(error) || isStatus(error, 401, 403)) {
      problem = isStatus(error, 403) ? `${message}; this process lacks the right` : message
    }
  }

  return {
    firstList: firstList.promise,
    start() {
      running = run()
    },
    retryNow() {
      failuresInARow = 0
      waiting.abort()
    },
    relist() {
      if (signal.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        relisters.push(resolve)
        // Ends the present watch, which is not a failure. A list under way is finished first.
        round.abort()
        waiting.abort()
      })
    },
    state: () => ({
      what,
      complete: resourceVersion !== undefined,
      ageMillis: provenAt === undefined ? undefined : clock.now() - provenAt,
      lists,
      failures,
      problem,
    }),
    async stop() {
      stopping.abort()
      waiting.abort()
      firstList.resolve()
      await running
    },
  }
}
