import http from 'node:http'
import https from 'node:https'
import type { IncomingMessage, RequestOptions } from 'node:http'
import type { KubeConfig } from '@kubernetes/client-node'
import type { Clock } from '../../../kubernetes/clock.ts'
import { ResourceConflict } from '../resource_source.ts'
import type { ApiList, ApiObject } from './api_object.ts'
import { ApiError, errorOfStatus, isStatus, unreachable } from './api_error.ts'
import { readBody } from './api_body.ts'
import { tokenFileOf } from './kube_config.ts'

export interface ApiRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Begins with `/api`. */
  path: string
  query?: Record<string, string | number | undefined>
  body?: unknown
  /** Of the body; default `application/json`. */
  contentType?: string
  accept?: string
  signal?: AbortSignal
}

/** Calls an API server as one identity. Every method rejects with ApiError; what writes, with ResourceConflict while it may not. */
export interface ApiClient {
  object(request: ApiRequest): Promise<ApiObject>
  list(request: ApiRequest): Promise<ApiList>
  /** A watch: resolves when it is open. Whoever reads it closes it, by `signal`. */
  stream(request: ApiRequest): Promise<IncomingMessage>
  /** Gives back connections that nobody uses now. */
  close(): void
}

export interface ApiClientOptions {
  /** Reads the configuration anew: at the start, and when the API server does not know the credentials any more. */
  connect: () => KubeConfig
  /** False while nothing may be written: another process may lead. */
  mayWrite: () => boolean
  clock: Clock
  /** Until a call has been answered, or a watch is open. */
  timeoutMillis?: number
  /** Sent with every call; several values are sent as several headers. */
  headers?: Record<string, string[]>
}

export const JSON_PATCH = 'application/json-patch+json'
export const MERGE_PATCH = 'application/merge-patch+json'
export const APPLY_PATCH = 'application/apply-patch+yaml'

const TIMEOUT_MILLIS = 30_000
const RELOAD_MILLIS = 1_000
const IDLE_MILLIS = 60_000
const CALLS = { keepAlive: true, keepAliveMsecs: 15_000, maxSockets: 32, timeout: IDLE_MILLIS }

/**
 * The configuration and the credentials are the Kubernetes client's; the calls are made here, over connections that
 * are kept. An agent keeps connections apart by certificate and authority, so that rotated ones take effect by
 * themselves.
 */
export function createApiClient(options: ApiClientOptions): ApiClient {
  const { connect, mayWrite, clock, timeoutMillis = TIMEOUT_MILLIS, headers = {} } = options
  const agents = { 'https:': new https.Agent(CALLS), 'http:': new http.Agent(CALLS) }
  // A watch holds its connection for minutes: many of them must leave room for calls.
  const watchAgents = { 'https:': new https.Agent(), 'http:': new http.Agent() }
  let config: KubeConfig | undefined
  let loadedAt = 0

  function load(): KubeConfig {
    loadedAt = clock.now()
    try {
      config = connect()
      return config
    } catch (error) {
      throw unreachable('kubeconfig', error)
    }
  }

  /** What is asked for in vain is asked for again where that is harmless, or with other credentials. */
  async function call(request: AnyRequest): Promise<IncomingMessage> {
    const used = config ?? load()
    try {
      return await once(request, used)
    } catch (error) {
      if (isStatus(error, 401) && (config !== used || clock.now() - loadedAt > RELOAD_MILLIS)) {
        return once(request, config === used ? load() : (config ?? used))
      }
      if (error instanceof StaleConnection && request.method !== 'POST') return once(request, used)
      throw error
    }
  }

  async function once(request: AnyRequest, from: KubeConfig): Promise<IncomingMessage> {
    const name = `${request.method} ${request.path}`
    if (request.method !== 'GET' && !mayWrite()) {
      throw new ResourceConflict(`${name}: this process does not lead now, so it writes nothing`)
    }
    const url = urlOf(from, request)
    const answer = Promise.withResolvers<IncomingMessage>()
    const body = request.body === undefined ? undefined : JSON.stringify(request.body)
    const outgoing = (url.protocol === 'http:' ? http : https).request(url, await requestOptions(request, from, url))
    const cancel = clock.after(timeoutMillis, () => outgoing.destroy(new Error(`no answer in ${timeoutMillis} ms`)))
    outgoing.once('response', answer.resolve)
    outgoing.on('error', (error) => {
      const isStale = outgoing.reusedSocket && Reflect.get(error, 'code') === 'ECONNRESET'
      answer.reject(isStale ? new StaleConnection(name, error) : unreachable(name, error))
    })
    outgoing.end(body)
    try {
      const response = await answer.promise
      if (isGood(response)) return response
      const text = await readBody(response).catch(() => '')
      throw errorOfStatus(name, response.statusCode ?? 0, parsed(text), response.headers['retry-after'])
    } finally {
      cancel()
    }
  }

  async function requestOptions(request: AnyRequest, from: KubeConfig, url: URL): Promise<RequestOptions> {
    const name = `${request.method} ${request.path}: credentials`
    const credentials: https.RequestOptions = {}
    await from.applyToHTTPSOptions(credentials).catch((error: unknown) => {
      throw unreachable(name, error)
    })
    const authorizing = trimmed(credentials.headers)
    const tokenFile = tokenFileOf(from)
    if (tokenFile !== undefined && !/^Bearer ./.test(authorizing.Authorization ?? '')) {
      // The Kubernetes client would call as nobody until it reads the file again, a minute later.
      if (config === from) config = undefined
      throw unreachable(name, `the token file ${tokenFile} is empty`)
    }
    const isProxied = from.getCurrentCluster()?.proxyUrl !== undefined
    const own = request.isWatch ? watchAgents : agents
    const agent = url.protocol === 'http:' ? own['http:'] : own['https:']
    return {
      ...credentials,
      method: request.method,
      headers: {
        ...authorizing,
        ...headers,
        Accept: request.accept ?? 'application/json',
        'User-Agent': 'realmkeeper',
        ...(request.body !== undefined && { 'Content-Type': request.contentType ?? 'application/json' }),
      },
      agent: isProxied ? credentials.agent : agent,
      ...(request.signal && { signal: request.signal }),
    }
  }

  async function json(request: ApiRequest): Promise<unknown> {
    const name = `${request.method} ${request.path}`
    const response = await call(request)
    const cancel = clock.after(timeoutMillis, () => response.destroy(new Error(`no answer in ${timeoutMillis} ms`)))
    try {
      return JSON.parse(await readBody(response))
    } catch (error) {
      throw unreachable(name, error)
    } finally {
      cancel()
    }
  }

  return {
    async object(request) {
      const body = await json(request)
      if (hasMembers(body, 'metadata')) return body
      throw unreachable(`${request.method} ${request.path}`, 'the answer is no object')
    },
    async list(request) {
      const body = await json(request)
      // An empty list may come as null, as Go writes it.
      if (hasMembers(body, 'items')) return { metadata: body.metadata, items: body.items ?? [] }
      throw unreachable(`${request.method} ${request.path}`, 'the answer is no list')
    },
    stream: (request) => call({ ...request, isWatch: true }),
    close() {
      for (const agent of [...Object.values(agents), ...Object.values(watchAgents)]) agent.destroy()
    },
  }
}

interface AnyRequest extends ApiRequest {
  isWatch?: boolean
}

/** A kept connection that the other side had closed already: the call was not heard. */
class StaleConnection extends ApiError {
  constructor(call: string, cause: Error) {
    super(`${call}: ${cause.message}`, { status: 0, reason: 'Unreachable', cause })
  }
}

function urlOf(config: KubeConfig, { path, query = {} }: ApiRequest): URL {
  const server = config.getCurrentCluster()?.server
  if (server === undefined) throw unreachable(path, 'the kubeconfig names no cluster')
  // The server may lie under a path of its own.
  const url = new URL(server.replace(/\/+$/, '') + path)
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value))
  return url
}

function isGood({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode >= 200 && statusCode < 300
}

/** A token file often ends with a newline, which no header may hold. */
function trimmed(headers: https.RequestOptions['headers']): Record<string, string> {
  return Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name, String(value).trim()]))
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function hasMembers(body: unknown, member: string): body is ApiObject & ApiList {
  return typeof body === 'object' && body !== null && member in body
}
