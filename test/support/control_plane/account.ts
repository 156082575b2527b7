import { mkdirSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** Where an API server is, and what proves an identity there. Certificates and keys are PEM. */
export interface Identity {
  server: string
  ca: string
  certificate?: string
  key?: string
  token?: string
  /** For the kubeconfig, instead of a token: the file that holds one. */
  tokenFile?: string
}

export interface Answer {
  status: number
  /** The parsed JSON; a `metav1.Status` when the call was refused. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests assert on the members that they read
  body: any
}

export interface CallOptions {
  /** Default: `application/json`. */
  contentType?: string
  headers?: Record<string, string>
}

/** An identity that calls the API server. */
export interface Account {
  name: string
  /** Path of a kubeconfig file, for kubectl and for the product. */
  kubeconfig: string
  identity: Identity
  /**
   * One call; refusals are answers, not errors. Repeats the call while the API server answers with Retry-After, as it does
   * when it starts ("storage is (re)initializing"), and when a kept connection turns out to be closed.
   */
  call(method: string, path: string, body?: unknown, options?: CallOptions): Promise<Answer>
  /** As `call`, but rejects with the API server's message when it refuses. */
  do(method: string, path: string, body?: unknown, options?: CallOptions): Promise<Answer['body']>
}

export const MERGE_PATCH = 'application/merge-patch+json'
export const JSON_PATCH = 'application/json-patch+json'
export const APPLY_PATCH = 'application/apply-patch+yaml'

/** An account with a kubeconfig file of its own in `folder`. */
export function accountOf(name: string, identity: Identity, folder: string): Account {
  mkdirSync(folder, { recursive: true })
  const kubeconfig = join(folder, `${name.replaceAll(/[^\w.-]/g, '_')}-${++files}.kubeconfig`)
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(identity)), { mode: 0o600 })

  const account: Account = {
    name,
    kubeconfig,
    identity,
    call: (method, path, body, options = {}) => callPatiently(identity, { method, path, body, ...options }),
    async do(method, path, body, options) {
      const answer = await account.call(method, path, body, options)
      if (answer.status < 300) return answer.body
      throw new Error(`${name}: ${method} ${path}: ${answer.status} ${answer.body?.message ?? ''}`)
    },
  }
  return account
}

let files = 0
const agent = new Agent({ keepAlive: true, maxSockets: 20 })

function kubeconfigOf({ server, ca, certificate, key, token, tokenFile }: Identity): object {
  const base64 = (text: string): string => Buffer.from(text).toString('base64')
  const user = {
    ...(certificate !== undefined && { 'client-certificate-data': base64(certificate) }),
    ...(key !== undefined && { 'client-key-data': base64(key) }),
    ...(token !== undefined && { token }),
    ...(tokenFile !== undefined && { tokenFile }),
  }
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority-data': base64(ca) } }],
    users: [{ name: 'me', user }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'me' } }],
    'current-context': 'test',
  }
}

const MAX_TRIES = 60

async function callPatiently(identity: Identity, target: CallOptions & CallTarget): Promise<Answer> {
  for (let tries = 1; ; tries++) {
    try {
      const { retryAfterSeconds, ...answer } = await call(identity, target)
      if (retryAfterSeconds === undefined || tries === MAX_TRIES) return answer
      await sleep(retryAfterSeconds * 1_000)
    } catch (error) {
      if (!(error instanceof StaleConnection) || tries === MAX_TRIES) throw error
    }
  }
}

class StaleConnection extends Error {}

function call(
  { server, ca, certificate, key, token }: Identity,
  { method, path, body, contentType = 'application/json', headers = {} }: CallOptions & CallTarget,
): Promise<Answer & { retryAfterSeconds?: number }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      server + path,
      {
        method,
        agent,
        ca,
        cert: certificate,
        key,
        headers: {
          Accept: 'application/json',
          ...(body !== undefined && { 'Content-Type': contentType }),
          ...(token !== undefined && { Authorization: `Bearer ${token}` }),
          ...headers,
        },
      },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => void chunks.push(chunk))
        response.once('error', reject)
        response.once('end', () => {
          const text = Buffer.concat(chunks).toString()
          const { statusCode: status = 0, headers } = response
          const mayRetry = [429, 503].includes(status) && headers['retry-after'] !== undefined
          resolve({
            status,
            body: parsed(text),
            ...(mayRetry && { retryAfterSeconds: Number(headers['retry-after']) }),
          })
        })
      },
    )
    outgoing.once('error', (error) => {
      const isStale = outgoing.reusedSocket && Reflect.get(error, 'code') === 'ECONNRESET' && method !== 'POST'
      reject(isStale ? new StaleConnection(error.message) : error)
    })
    outgoing.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

interface CallTarget {
  method: string
  path: string
  body: unknown
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return { message: text }
  }
}
