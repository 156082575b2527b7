// Over 250 lines: listing, watching and recovering from either are one loop, and are read together.
import type { Logger } from 'pino'
import type { Clock } from '../../../kubernetes/clock.ts'
import { backoffMillis } from '../../controller/queue.ts'
import type { ApiClient } from './api_client.ts'
import { ApiError, isStatus, unreachable } from './api_error.ts'
import { isLater } from './api_object.ts'
import type { ApiObject } from './api_object.ts'
import { listAll } from './list_all.ts'
import type { Timings } from './timings.ts'
import { watchOnce } from './watch_stream.ts'
import type { WatchEvent } from './watch_stream.ts'

/**
 * Where what is seen goes. It may resolve with what takes it over, so that whoever is told then finds the watch up to
 * date; what it rejects is seen again.
 */
export interface Sink {
  /** Everything there is. */
  replace(objects: ApiObject[]): Promise<(() => void) | void>
  /** What happened since, without bookmarks. */
  apply(events: WatchEvent[]): Promise<(() => void) | void>
}

export interface ReflectorOptions {
  /** For people: `users in namespace shop`. */
  what: string
  path: string
  fieldSelector?: string
  /** Only `metadata` is asked for, so that the rest does not travel. */
  metadataOnly?: boolean
  sink: Sink
  client: ApiClient
  clock: Clock
  random: () => number
  log: Logger
  timings: Timings
}

export interface WatchState {
  what: string
  /** A complete list is held, and everything that happened since is known or will be. */
  complete: boolean
  /** Milliseconds since the API server last proved that nothing was missed; undefined before the first list. */
  ageMillis: number | undefined
  lists: number
  failures: number
  /** What is wrong now, for people. */
  problem: string | undefined
}

/** Keeps a sink equal to what lies under a path of the API server, whatever happens to the connection. */
export interface Reflector {
  start(): void
  /** Resolves when the first list is held, or the API server refused it (403, 404): it is asked again all the same. */
  firstLook: Promise<void>
  /** Ends a wait between two tries. */
  hurry(): void
  /** Lists anew; resolves when a list that began after the call is held or refused, or when it is stopped. */
  relist(): Promise<void>
  state(): WatchState
  stop(): Promise<void>
}

const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'
const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'
/** So many tries to open a watch from where the last one ended; then it is listed anew. */
const TRIES_TO_OPEN = 4

export function createReflector(options: ReflectorOptions): Reflector {
  const { what, path, fieldSelector, metadataOnly = false, sink, client, clock, random, log, timings } = options
  const query = { fieldSelector }
  const stopping = new AbortController()
  const { signal } = stopping
  const firstLook = Promise.withResolvers<void>()
  let running: Promise<void> = Promise.resolve()
  let endWait = (): void => {}
  let round = new AbortController()
  /** Those who wait for a list that is yet to begin. */
  const waiting: (() => void)[] = []

  /** Where the watch goes on; undefined when it has to be listed first. */
  let resourceVersion: string | undefined
  let provenAt: number | undefined
  let openedAt: number | undefined
  let lists = 0
  let failures = 0
  let inARow = 0
  let unopened = 0
  let stalls = 0
  let problem: string | undefined

  async function run(): Promise<void> {
    while (!signal.aborted) {
      openedAt = undefined
      round = new AbortController()
      try {
        if (resourceVersion === undefined || waiting.length > 0) await list()
        // Somebody may have come while it was listed.
        if (waiting.length === 0) await watch()
      } catch (error) {
        if (!signal.aborted && !round.signal.aborted) await failed(error)
      }
    }
    answerWaiting()
  }

  function answerWaiting(served = waiting.length): void {
    firstLook.resolve()
    for (const resolve of waiting.splice(0, served)) resolve()
  }

  async function list(): Promise<void> {
    const accept = metadataOnly ? { accept: METADATA_LIST } : {}
    const served = waiting.length
    const listed = await listAll(client, { path, query, signal, ...accept }, timings.pageSize)
    const takeOver = await sink.replace(listed.objects)
    resourceVersion = listed.resourceVersion
    lists += 1
    proven()
    if (takeOver) takeOver()
    answerWaiting(served)
  }

  async function watch(): Promise<void> {
    if (resourceVersion === undefined) return
    const accept = metadataOnly ? { accept: METADATA } : {}
    const [least, most] = timings.watchSeconds
    let heard = false
    const how = await watchOnce({
      client,
      request: { path, query, ...accept },
      resourceVersion,
      timeoutSeconds: Math.round(least + (most - least) * random()),
      stallMillis: timings.stallMillis,
      clock,
      signal: AbortSignal.any([signal, round.signal]),
      onOpen() {
        openedAt = clock.now()
      },
      async onEvents(events) {
        await take(events)
        heard = true
      },
    })
    if (how === 'stalled') return stalled()
    // A server that keeps ending watches at once would otherwise be asked without a pause.
    if (!heard && livedMillis() < timings.wellMillis) throw unreachable(`watch ${path}`, 'it ended at once')
  }

  async function take(events: WatchEvent[]): Promise<void> {
    const last = events.at(-1)?.object.metadata.resourceVersion ?? ''
    if (resourceVersion !== undefined && isLater(resourceVersion, last)) {
      resourceVersion = undefined
      throw new Error(`watch ${path}: the API server went back in history`)
    }
    const changes = events.filter(({ type }) => type !== 'BOOKMARK')
    const takeOver = changes.length > 0 ? await sink.apply(changes) : undefined
    resourceVersion = last
    proven()
    if (takeOver) takeOver()
  }

  /** A new connection is enough when the old one was dead; where that is as silent, only a list tells. */
  function stalled(): void {
    stalls += 1
    log.warn({ watch: what, stalls }, 'a watch went silent; it is opened anew')
    if (stalls > 1) resourceVersion = undefined
  }

  function proven(): void {
    provenAt = clock.now()
    stalls = 0
    if (problem !== undefined) log.info({ watch: what }, 'the watch works again')
    problem = undefined
  }

  /** How long the present watch has been open. */
  function livedMillis(): number {
    return openedAt === undefined ? 0 : clock.now() - openedAt
  }

  async function failed(error: unknown): Promise<void> {
    failures += 1
    inARow = livedMillis() > timings.wellMillis ? 1 : inARow + 1
    unopened = openedAt === undefined ? unopened + 1 : 0
    if (!canResume(error) || unopened > TRIES_TO_OPEN) resourceVersion = undefined
    if (isStatus(error, 403, 404)) answerWaiting()
    say(error)
    const asked = error instanceof ApiError ? (error.retryAfterMillis ?? 0) : 0
    const backoff = backoffMillis(inARow, timings.firstRetryMillis, timings.longestRetryMillis, random)
    // Spread, so that all that were told the same do not come back together.
    await wait(Math.max(backoff, asked * (1 + random() / 4)))
  }

  /** One broken connection is an ordinary thing: said when it lasts. */
  function say(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error)
    const isOrdinary = inARow === 1 && canResume(error) && !isStatus(error, 401, 403)
    if (problem === undefined && !isOrdinary)
      log.warn({ err: error, watch: what }, `${what} cannot be watched; it is tried again`)
    else log.debug({ err: error, watch: what, inARow }, 'watching failed again')
    if (!isOrdinary) problem = isStatus(error, 403) ? `${message}; the operator lacks the right` : message
  }

  function wait(millis: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = clock.after(millis, resolve)
      endWait = () => {
        cancel()
        resolve()
      }
    })
  }

  return {
    firstLook: firstLook.promise,
    start() {
      running = run()
    },
    hurry() {
      inARow = 0
      endWait()
    },
    relist() {
      if (signal.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        waiting.push(resolve)
        // A watch that was broken off for this is no failure; a list under way is finished first.
        round.abort()
        endWait()
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
      endWait()
      firstLook.resolve()
      await running
    },
  }
}

/** True for what says nothing about history: no answer, or an API server that is overloaded or starting. */
function canResume(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false
  return (
    error.status === 0 ||
    (error.status >= 500 && error.reason !== 'Timeout') ||
    [401, 403, 408, 429].includes(error.status)
  )
}
