import { StringDecoder } from 'node:string_decoder'
import type { Clock } from '../../../kubernetes/clock.ts'
import type { ApiClient, ApiRequest } from './api_client.ts'
import type { ApiObject } from './api_object.ts'
import { ApiError, errorOfStatus, unreachable } from './api_error.ts'

export interface WatchEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'
  object: ApiObject
}

export interface WatchOptions {
  client: ApiClient
  request: Pick<ApiRequest, 'path' | 'query' | 'accept'>
  resourceVersion: string
  /** After which the API server ends it. */
  timeoutSeconds: number
  /** A watch on which nothing arrived for so long, not even a bookmark, is taken for dead. */
  stallMillis: number
  clock: Clock
  signal: AbortSignal
  onOpen: () => void
  /** Events in order, those that arrived together at once. The next ones wait until it has resolved. */
  onEvents: (events: WatchEvent[]) => Promise<void>
}

/** More than any event holds: etcd takes objects of 1.5 MB. */
const LONGEST_LINE = 32 * 1024 * 1024

/**
 * One watch, from its opening to its end. Resolves with how it ended; rejects with ApiError when it was refused or
 * broke, an ERROR event included (410: history before `resourceVersion` is gone).
 */
export async function watchOnce(options: WatchOptions): Promise<'closed' | 'stalled'> {
  const { client, request, resourceVersion, timeoutSeconds, stallMillis, clock } = options
  const name = `watch ${request.path}`
  const end = new AbortController()
  const signal = AbortSignal.any([options.signal, end.signal])
  let stalled = false
  let cancelStall = (): void => {}
  function awaitSign(): void {
    cancelStall()
    cancelStall = clock.after(stallMillis, () => {
      stalled = true
      end.abort()
    })
  }

  const query = { ...request.query, watch: 'true', allowWatchBookmarks: 'true', resourceVersion, timeoutSeconds }
  try {
    const response = await client.stream({ ...request, method: 'GET', query, signal })
    options.onOpen()
    awaitSign()
    const lines = lineReader()
    for await (const chunk of response) {
      const events = lines.read(chunk).map((line) => eventOf(line, name))
      cancelStall()
      // While events are worked on, silence is ours.
      if (events.length > 0) await options.onEvents(events)
      awaitSign()
    }
    return 'closed'
  } catch (error) {
    if (stalled) return 'stalled'
    throw error instanceof ApiError ? error : unreachable(name, error)
  } finally {
    cancelStall()
    end.abort()
  }
}

function lineReader(): { read(chunk: Buffer): string[] } {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  return {
    read(chunk) {
      const lines = (rest + decoder.write(chunk)).split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > LONGEST_LINE) throw new Error('an event is too long')
      return lines.filter((line) => line !== '')
    },
  }
}

/** Whatever the reason is: what came before is all that this watch will ever tell, and nobody knows what is missing. */
function historyLost({ message, reason, retryAfterMillis }: ApiError): ApiError {
  return new ApiError(message, { status: 410, reason, retryAfterMillis })
}

function eventOf(line: string, name: string): WatchEvent {
  const event: { type?: string; object?: ApiObject } = JSON.parse(line)
  const { type, object } = event
  if (type === 'ERROR') throw historyLost(errorOfStatus(name, 500, object))
  const isKnown = type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED' || type === 'BOOKMARK'
  if (!isKnown || !object?.metadata?.resourceVersion) throw new Error(`an event of type ${JSON.stringify(type)}`)
  return { type, object }
}
