import https from 'node:https'
import type { IncomingMessage } from 'node:http'
import { StringDecoder } from 'node:string_decoder'
import type { KeyringReference } from '../keyring_source.ts'
import type { ReadAccess } from './api_access.ts'

/** What this process looks at of a Secret. Never log one. */
export interface SecretObject {
  metadata: { name: string; resourceVersion: string }
  data?: Record<string, unknown>
}

export interface SecretEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'
  object: SecretObject
}

/** Two calls, on one Secret each, because that is all that this process may do. Both reject with ApiRefusal. */
export interface SecretApi {
  /** The Secret as it is now, and where a watch of it goes on. */
  list(
    reference: KeyringReference,
    signal: AbortSignal,
  ): Promise<{ secret: SecretObject | undefined; resourceVersion: string }>
  /**
   * What happens to it after `resourceVersion`, until the API server ends the watch. Rejects when it breaks; with
   * status 410 when the history that it should have gone on from is gone. `onSign` is called for every sign of life.
   */
  watch(
    reference: KeyringReference,
    options: { resourceVersion: string; timeoutSeconds: number; signal: AbortSignal; onSign: () => void },
  ): AsyncIterable<SecretEvent>
  close(): void
}

/** The API server refused, or did not answer. The message holds nothing of a Secret. */
export class ApiRefusal extends Error {
  override readonly name = 'ApiRefusal'
  /** HTTP status; 0 when no answer came. */
  readonly status: number
  readonly retryAfterMillis: number

  constructor(message: string, status: number, retryAfterMillis = 0) {
    super(message)
    this.status = status
    this.retryAfterMillis = retryAfterMillis
  }
}

/** Until an answer has begun, and until a list is complete. */
const CALL_MILLIS = 30_000
/** A Secret holds at most a MiB; base64 and what else is said of it come on top. */
const MAX_BYTES = 8 * 1024 * 1024
const LONGEST_RETRY_AFTER_SECONDS = 120

export function createSecretApi(readAccess: ReadAccess): SecretApi {
  // Watches hold their connections, so there are as many as keyrings. An agent keeps those of different authorities and
  // certificates apart.
  const agent = new https.Agent({ keepAlive: true, keepAliveMsecs: 15_000, timeout: 60_000 })

  async function get(
    { namespace, name }: KeyringReference,
    query: Record<string, string>,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const { url, ca, servername, token, cert, key } = await readAccess()
    const target = new URL(`${url}/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`)
    target.search = new URLSearchParams({ fieldSelector: `metadata.name=${name}`, ...query }).toString()
    const answer = Promise.withResolvers<IncomingMessage>()
    const request = https.get(target, {
      agent,
      signal,
      ca,
      cert,
      key,
      ...(servername !== undefined && { servername }),
      // Said here, so that no variable of the environment says otherwise.
      rejectUnauthorized: true,
      headers: {
        Accept: 'application/json',
        'User-Agent': 'realmkeeper-server',
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      },
    })
    const late = setTimeout(() => request.destroy(new Error(`no answer in ${CALL_MILLIS} ms`)), CALL_MILLIS)
    request.once('response', answer.resolve)
    request.on('error', answer.reject)
    try {
      const response = await answer.promise
      if (response.statusCode === 200) return response
      throw await refusalOf(response)
    } finally {
      clearTimeout(late)
    }
  }

  return {
    async list(reference, signal) {
      const response = await get(reference, {}, signal).catch(toldAs)
      const late = setTimeout(() => response.destroy(new Error(`no list in ${CALL_MILLIS} ms`)), CALL_MILLIS)
      try {
        const list: unknown = JSON.parse(await readBody(response))
        if (!isList(list)) throw new ApiRefusal('the answer is not a list of Secrets', 0)
        const secret = list.items.find(({ metadata }) => metadata.name === reference.name)
        return { secret, resourceVersion: list.metadata.resourceVersion }
      } catch (error) {
        return toldAs(error)
      } finally {
        clearTimeout(late)
      }
    },

    async *watch(reference, { resourceVersion, timeoutSeconds, signal, onSign }) {
      const query = {
        watch: 'true',
        allowWatchBookmarks: 'true',
        resourceVersion,
        timeoutSeconds: String(timeoutSeconds),
      }
      const response = await get(reference, query, signal).catch(toldAs)
      try {
        onSign()
        const decoder = new StringDecoder('utf8')
        let rest = ''
        for await (const chunk of response) {
          onSign()
          const lines = (rest + decoder.write(chunk)).split('\n')
          rest = lines.pop() ?? ''
          if (rest.length > MAX_BYTES) throw new ApiRefusal('an event is too long', 0)
          for (const line of lines) if (line !== '') yield eventOf(line)
        }
      } catch (error) {
        toldAs(error)
      } finally {
        response.destroy()
      }
    },

    close: () => agent.destroy(),
  }
}

/** Whatever broke is told in our words: an error of a parser quotes what it could not read. */
function toldAs(error: unknown): never {
  if (error instanceof ApiRefusal) throw error
  if (error instanceof SyntaxError) throw new ApiRefusal('the answer is not JSON', 0)
  throw new ApiRefusal(error instanceof Error ? error.message : 'no answer', 0)
}

async function refusalOf(response: IncomingMessage): Promise<ApiRefusal> {
  const status = response.statusCode ?? 0
  const seconds = Math.min(Number(response.headers['retry-after']) || 0, LONGEST_RETRY_AFTER_SECONDS)
  const body = await readBody(response).catch(() => '')
  return new ApiRefusal(`${status} ${messageIn(body)}`.trim(), status, seconds * 1_000)
}

/** `message` of a `metav1.Status`. */
function messageIn(body: string): string {
  try {
    const status: unknown = JSON.parse(body)
    return isObject(status) && typeof status.message === 'string' ? status.message.slice(0, 300) : ''
  } catch {
    return ''
  }
}

async function readBody(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response) {
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw new ApiRefusal('the answer is too long', 0)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function eventOf(line: string): SecretEvent {
  const event: unknown = JSON.parse(line)
  if (!isObject(event)) throw new ApiRefusal('an event is no object', 0)
  const { type, object } = event
  // Whatever its reason: what came before is all that this watch will ever tell, and nobody knows what is missing.
  if (type === 'ERROR') throw new ApiRefusal(`the watch ended: ${messageIn(JSON.stringify(object))}`, 410)
  const isKnown = type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED' || type === 'BOOKMARK'
  if (!isKnown || !isSecret(object)) throw new ApiRefusal('an event of an unknown kind', 0)
  return { type, object }
}

function isList(value: unknown): value is { metadata: { resourceVersion: string }; items: SecretObject[] } {
  if (!isObject(value) || !isObject(value.metadata) || !Array.isArray(value.items)) return false
  return typeof value.metadata.resourceVersion === 'string' && value.items.every(isSecret)
}

function isSecret(value: unknown): value is SecretObject {
  return isObject(value) && isObject(value.metadata) && typeof value.metadata.resourceVersion === 'string'
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
