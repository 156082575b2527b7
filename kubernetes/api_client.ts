import http from 'node:http'
import https from 'node:https'
import type { IncomingMessage } from 'node:http'
import type { AccessSource } from './access.ts'
import { AnswerTooLarge, ApiError, errorOfStatus, isStatus, unreachable } from './api_error.ts'
import type { ApiList, ApiObject } from './api_object.ts'
import type { CountCall, Verb } from './call_counter.ts'
import type { AwaitTurn } from './call_rate.ts'
import type { Clock } from './clock.ts'

export interface ApiRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Begins with `/api`. */
  path: string
  query?: Record<string, string | number | undefined>
  body?: unknown
  /** Of the body; default `application/json`. */
  contentType?: string
  accept?: string
  /** Bound of the answer; default that of the client. Beyond it, the call rejects with AnswerTooLarge. */
  maxBodyBytes?: number
  signal?: AbortSignal
}

/** Calls an API server as one identity. Every method rejects with ApiError, or with the error of `beforeWrite`. */
export interface ApiClient {
  object(request: ApiRequest): Promise<ApiObject>
  /** Reads one object; undefined when there is none (404). */
  find(request: Pick<ApiRequest, 'path' | 'accept'>): Promise<ApiObject | undefined>
  list(request: ApiRequest): Promise<ApiList>
  /** A watch: resolves when it is open. The caller closes it with `signal`. */
  stream(request: ApiRequest): Promise<IncomingMessage>
  /** Closes idle connections. */
  close(): void
}

export interface ApiClientOptions {
  access: AccessSource
  clock: Clock
  /** Called before every attempt of a call that writes, with the call's name. Refuses the write by throwing. */
  beforeWrite?: (call: string) => void
  countCall?: CountCall | undefined
  /** Delays the attempts of calls. By default there is no limit. */
  awaitTurn?: AwaitTurn | undefined
  /** Until a call has been answered, or a watch is open. Default 30 s. */
  timeoutMillis?: number
  /** Bound of an answer that is read as a whole. Default 256 MiB. */
  maxBodyBytes?: number
  /** Sent with every call; several values are sent as several headers. */
  headers?: Record<string, string | string[]>
}

const VERBS = { GET: 'get', POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' } as const

export const JSON_PATCH = 'application/json-patch+json'
export const MERGE_PATCH = 'application/merge-patch+json'
/** An `accept` that requests only `metadata`. */
export const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'
/** The same for a list. */
export const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'
export const APPLY_PATCH = 'application/apply-patch+yaml'

const TIMEOUT_MILLIS = 30_000
/** Only a whole list is ever so long. `listAll` bounds a page. */
const MAX_BODY_BYTES = 256 * 1024 * 1024
const IDLE_MILLIS = 60_000
/** Least time between two reloads of the access, by cause. */
const RELOAD_MILLIS = { refused: 1_000, unreachable: 30_000 }

/**
 * A client over connections that stay open. An agent separates them by certificate and authority, so replaced ones take
 * effect with the next call. README.md in this folder lists what is retried.
 */
export function createApiClient(options: ApiClientOptions): ApiClient {
  const { access, clock, beforeWrite, countCall, awaitTurn, headers = {} } = options
  const { timeoutMillis = TIMEOUT_MILLIS, maxBodyBytes = MAX_BODY_BYTES } = options
  const reused = { keepAlive: true, keepAliveMsecs: 15_000, maxSockets: 32, timeout: IDLE_MILLIS }
  const agents = { call: agentPair(reused), watch: agentPair({}) }
  let reloads = 0
  let reloadedAt = clock.now()

  async function call(request: ApiRequest, verb: Verb): Promise<IncomingMessage> {
    const reloadsBefore = reloads
    try {
      return await attempt(request, verb)
    } catch (error) {
      if (error instanceof StaleConnection) {
        if (request.method === 'POST') throw error
        return attempt(request, verb)
      }
      const isRefused = isStatus(error, 401)
      if (isRefused) reloadAccess(RELOAD_MILLIS.refused)
      else if (isStatus(error, 0) && !request.signal?.aborted) reloadAccess(RELOAD_MILLIS.unreachable)
      if (isRefused && reloads > reloadsBefore) return attempt(request, verb)
      throw error
    }
  }

  function reloadAccess(leastMillis: number): void {
    if (!access.reload || clock.now() - reloadedAt <= leastMillis) return
    access.reload()
    reloads += 1
    reloadedAt = clock.now()
  }

  async function attempt(request: ApiRequest, verb: Verb): Promise<IncomingMessage> {
    const name = nameOf(request)
    await awaitTurn?.(request.signal)
    if (request.method !== 'GET') beforeWrite?.(name)
    const {
      url,
      headers: authorizing,
      connection,
    } = await access.read().catch((error: unknown) => {
      throw unreachable(`${name}: credentials`, error)
    })
    const target = urlOf(url, request)
    const protocol = target.protocol === 'http:' ? 'http' : 'https'
    const answer = Promise.withResolvers<IncomingMessage>()
    const outgoing = { http, https }[protocol].request(target, {
      agent: agents[verb === 'watch' ? 'watch' : 'call'][protocol],
      // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED has no effect.
      rejectUnauthorized: true,
      ...connection,
      method: request.method,
      headers: { ...authorizing, ...headers, ...headersOf(request) },
      ...(request.signal && { signal: request.signal }),
    })
    const cancel = clock.after(timeoutMillis, () => outgoing.destroy(lateAnswer()))
    outgoing.once('response', answer.resolve)
    outgoing.on('error', (error) => {
      const isStale = outgoing.reusedSocket && Reflect.get(error, 'code') === 'ECONNRESET'
      answer.reject(isStale ? new StaleConnection(name, error) : unreachable(name, error))
    })
    outgoing.end(request.body === undefined ? undefined : JSON.stringify(request.body))
    try {
      const response = await answer.promise.catch((error: unknown) => {
        countCall?.(verb, 0)
        throw error
      })
      const { statusCode = 0 } = response
      countCall?.(verb, statusCode)
      if (statusCode >= 200 && statusCode < 300) return response
      const text = await readBody(response, maxBodyBytes).catch(() => '')
      throw errorOfStatus(name, statusCode, parsed(text), response.headers['retry-after'])
    } finally {
      cancel()
    }
  }

  async function json(request: ApiRequest, verb: Verb): Promise<unknown> {
    const response = await call(request, verb)
    const cancel = clock.after(timeoutMillis, () => response.destroy(lateAnswer()))
    try {
      return JSON.parse(await readBody(response, request.maxBodyBytes ?? maxBodyBytes))
    } catch (error) {
      if (error instanceof AnswerTooLarge) throw error
      throw unreachable(nameOf(request), error)
    } finally {
      cancel()
    }
  }

  function lateAnswer(): Error {
    return new Error(`no answer in ${timeoutMillis} ms`)
  }

  async function object(request: ApiRequest): Promise<ApiObject> {
    const body = await json(request, VERBS[request.method])
    if (hasMember(body, 'metadata')) return body
    throw unreachable(nameOf(request), 'the answer is not an object')
  }

  return {
    object,
    async find(request) {
      try {
        return await object({ ...request, method: 'GET' })
      } catch (error) {
        if (isStatus(error, 404)) return undefined
        throw error
      }
    },
    async list(request) {
      const body = await json(request, 'list')
      // Go writes an empty list as null.
      if (hasMember(body, 'items')) return { metadata: body.metadata, items: body.items ?? [] }
      throw unreachable(nameOf(request), 'the answer is not a list')
    },
    stream: (request) => call(request, 'watch'),
    close() {
      for (const pair of Object.values(agents)) for (const agent of Object.values(pair)) agent.destroy()
    },
  }
}

/** A watch occupies its connection for minutes, so watches and calls do not share agents. */
function agentPair(options: https.AgentOptions): { http: http.Agent; https: https.Agent } {
  return { http: new http.Agent(options), https: new https.Agent(options) }
}

/** The API server had closed an idle connection before the call arrived. */
class StaleConnection extends ApiError {
  constructor(call: string, cause: Error) {
    super(`${call}: ${cause.message}`, { status: 0, reason: 'Unreachable', cause })
  }
}

function nameOf({ method, path }: ApiRequest): string {
  return `${method} ${path}`
}

function headersOf({ accept = 'application/json', body, contentType = 'application/json' }: ApiRequest) {
  return { Accept: accept, 'User-Agent': 'realmkeeper', ...(body !== undefined && { 'Content-Type': contentType }) }
}

function urlOf(server: string, { path, query = {} }: ApiRequest): URL {
  const url = new URL(server + path)
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value))
  return url
}

/** The whole body as text. Rejects when it exceeds the bound or breaks off. */
async function readBody(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response) {
    length += chunk.length
    if (length > maxBytes) throw new AnswerTooLarge(maxBytes)
    chunks.push(chunk)
  }
  if (!response.complete) throw new Error('the answer broke off')
  return Buffer.concat(chunks).toString('utf8')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function hasMember(body: unknown, member: string): body is ApiObject & ApiList {
  return typeof body === 'object' && body !== null && member in body
}
