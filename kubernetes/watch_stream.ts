import { StringDecoder } from 'node:string_decoder'
import type { ApiClient, ApiRequest } from './api_client.ts'
import { ApiError, errorOfStatus, unreachable } from './api_error.ts'
import type { ApiObject } from './api_object.ts'
import type { Clock } from './clock.ts'

export interface WatchEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'
  object: ApiObject
}

export interface WatchOptions {
  client: ApiClient
  request: Pick<ApiRequest, 'path' | 'query' | 'accept'>
  resourceVersion: string
  /** The API server ends the watch after this time. */
  timeoutSeconds: number
  /** A watch without any event for so long, bookmarks included, is considered dead. */
  stallMillis: number
  clock: Clock
  signal: AbortSignal
  onOpen: () => void
  /** Receives events in order, those that arrived together at once. The next ones wait until it has resolved. */
  onEvents: (events: WatchEvent[]) => Promise<void>
}

/** Longer than any event: etcd stores objects of at most 1.5 MB. */
const MAX_EVENT_LENGTH = 8 * 1024 * 1024

/**
 * One watch, from its opening to its end. Resolves with how it ended; rejects with ApiError when it was refused or
 * broke, and with status 410 for every ERROR or unknown event, because the events that it should have brought are lost.
 */
export async function watchOnce(options: WatchOptions): Promise<'closed' | 'stalled'> {
  const { client, request, resourceVersion, timeoutSeconds, stallMillis, clock } = options
  const name = `watch ${request.path}`
  const end = new AbortController()
  const signal = AbortSignal.any([options.signal, end.signal])
  let stalled = false
  let cancelStall = (): void => {}
  function restartStallTimer(): void {
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
    restartStallTimer()
    const readLines = lineReader()
    for await (const chunk of response) {
      const events = readLines(chunk).map((line) => eventOf(line, name))
      // The time that `onEvents` takes does not count as time without an event.
      cancelStall()
      if (events.length > 0) await options.onEvents(events)
      restartStallTimer()
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

/** The complete lines of the chunks so far that were not returned before. */
function lineReader(): (chunk: Buffer) => string[] {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  return (chunk) => {
    const lines = (rest + decoder.write(chunk)).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > MAX_EVENT_LENGTH) throw new Error(`an event is longer than ${MAX_EVENT_LENGTH} characters`)
    return lines.filter((line) => line !== '')
  }
}

function eventOf(line: string, name: string): WatchEvent {
  const event: { type?: string; object?: ApiObject } = JSON.parse(line)
  const { type, object } = event
  if (type === 'ERROR') {
    const { message, reason, retryAfterMillis } = errorOfStatus(name, 500, object)
    throw new ApiError(message, { status: 410, reason, retryAfterMillis })
  }
  const isKnown = type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED' || type === 'BOOKMARK'
  if (!isKnown || !object?.metadata?.resourceVersion) {
    throw new ApiError(`${name}: unexpected event of type ${JSON.stringify(type)}`, {
      status: 410,
      reason: 'Unexpected',
    })
  }
  return { type, object }
}
