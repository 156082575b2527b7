import type { Logger } from 'pino'
import { KEYRING_ENTRY } from '../../../keyring/keyring_secret.ts'
import type { KeyringReading, KeyringReference } from '../keyring_source.ts'
import { readSecretManifest } from '../secret_manifest.ts'
import { ApiAccessError } from './api_access.ts'
import { ApiRefusal } from './secret_api.ts'
import type { SecretApi, SecretObject } from './secret_api.ts'

/** In milliseconds, except where the name says otherwise. */
export interface FollowTimings {
  /** A watch on which nothing arrived for so long is taken for dead. API servers send a bookmark every minute or two. */
  stall: number
  firstRetry: number
  longestRetry: number
  /** A watch that lived so long was well: its next failure is the first one. */
  well: number
  /** Least and most seconds after which the API server ends a watch. */
  watchSeconds: readonly [number, number]
}

export const FOLLOW_TIMINGS: FollowTimings = {
  stall: 150_000,
  firstRetry: 250,
  longestRetry: 15_000,
  well: 5_000,
  watchSeconds: [300, 600],
}

/** So many tries to go on from where the watch broke; then it is listed anew. */
const TRIES_TO_RESUME = 3

export interface FollowOptions {
  api: SecretApi
  reference: KeyringReference
  onReading: (reading: KeyringReading) => void
  log: Logger
  random: () => number
  timings: FollowTimings
}

/** Tells what a Secret holds now and after every change, whatever happens to the connection. Returns what ends it. */
export function followSecret(options: FollowOptions): () => void {
  const { api, reference, onReading, random, timings } = options
  const log = options.log.child({ secret: `${reference.namespace}/${reference.name}` })
  const stopping = new AbortController()
  const { signal } = stopping
  /** Where the watch goes on; undefined when it has to be listed first. */
  let resourceVersion: string | undefined
  let inARow = 0
  let stalls = 0
  let trouble: string | undefined
  let toldRefusal = false

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const openedAt = performance.now()
      const lived = (): number => performance.now() - openedAt
      try {
        if (resourceVersion === undefined) await list()
        const heard = await watch()
        // A server that keeps ending watches at once would otherwise be asked without a pause.
        if (!heard && lived() < timings.well) throw new ApiRefusal('the watch ended at once', 0)
        inARow = 0
      } catch (error) {
        if (!signal.aborted) await failed(error, lived() > timings.well)
      }
    }
  }

  async function list(): Promise<void> {
    const listed = await api.list(reference, signal)
    tell(listed.secret ? readingOf(listed.secret) : { outcome: 'absent' })
    resourceVersion = listed.resourceVersion
  }

  async function watch(): Promise<boolean> {
    if (resourceVersion === undefined) return false
    const [least, most] = timings.watchSeconds
    const timeoutSeconds = Math.round(least + (most - least) * random())
    const end = new AbortController()
    let silence: NodeJS.Timeout | undefined
    const onSign = (): void => {
      if (trouble !== undefined) log.info('the keyring can be watched again')
      trouble = undefined
      clearTimeout(silence)
      silence = setTimeout(() => end.abort(), timings.stall)
    }
    let heard = false
    try {
      const within = AbortSignal.any([signal, end.signal])
      for await (const event of api.watch(reference, { resourceVersion, timeoutSeconds, signal: within, onSign })) {
        const { type, object } = event
        if (type === 'DELETED') tell({ outcome: 'absent' })
        else if (type !== 'BOOKMARK') tell(readingOf(object))
        resourceVersion = object.metadata.resourceVersion
        heard = true
        inARow = 0
        stalls = 0
      }
    } catch (error) {
      if (!end.signal.aborted) throw error
      stalled()
    } finally {
      clearTimeout(silence)
    }
    return heard || end.signal.aborted
  }

  /** A new connection is enough when the old one was dead; where that is as silent, only a list tells. */
  function stalled(): void {
    stalls += 1
    log.warn({ stalls }, 'the watch of a keyring went silent; it is opened anew')
    if (stalls > 1) resourceVersion = undefined
  }

  function tell(reading: KeyringReading): void {
    toldRefusal = false
    if (!signal.aborted) onReading(reading)
  }

  async function failed(error: unknown, wasWell: boolean): Promise<void> {
    inARow = wasWell ? 1 : inARow + 1
    if (!canResume(error) || inARow > TRIES_TO_RESUME) resourceVersion = undefined
    // One broken connection is an ordinary thing, and the right to a new keyring may come a moment after its name.
    if (inARow > 1) say(error)
    const asked = error instanceof ApiRefusal ? error.retryAfterMillis : 0
    const backoff = Math.min(timings.longestRetry, timings.firstRetry * 2 ** (inARow - 1)) * (0.5 + random())
    // Spread, so that all that were told the same do not come back together.
    await wait(Math.max(backoff, asked * (1 + random() / 4)))
  }

  function say(error: unknown): void {
    const message = error instanceof ApiRefusal || error instanceof ApiAccessError ? error.message : 'unexpected error'
    if (trouble === undefined) log.warn({ reason: message }, 'a keyring cannot be watched; it is tried again')
    trouble = message
    const isRefused = error instanceof ApiRefusal && error.status === 403
    if (!isRefused || toldRefusal || signal.aborted) return
    toldRefusal = true
    onReading({ outcome: 'unreadable', reason: `this server has no right to watch it: ${message}` })
  }

  function wait(millis: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(done, millis)
      function done(): void {
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        resolve()
      }
      signal.addEventListener('abort', done)
    })
  }

  void run()
  return () => stopping.abort()
}

/** True for what says nothing about history: no answer, or an API server that is overloaded or starting. */
function canResume(error: unknown): boolean {
  if (!(error instanceof ApiRefusal)) return false
  return [0, 401, 403, 429, 500, 502, 503].includes(error.status)
}

/** Nothing but the one entry is taken out. */
function readingOf({ data }: SecretObject): KeyringReading {
  const secret = { kind: 'Secret', data: { [KEYRING_ENTRY]: data?.[KEYRING_ENTRY] } }
  return readSecretManifest(Buffer.from(JSON.stringify(secret)))
}
