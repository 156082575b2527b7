import { mkdirSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { join } from 'node:path'

/** Where an API server is, and who one is there. Certificates and keys are PEM. */
export interface Identity {
  server: string
  ca: string
  certificate?: string
  key?: string
  token?: string
  /** Of the kubeconfig, in the place of a token: the file that holds one. */
  tokenFile?: string
}

export interface Answer {
  status: number
  /** The parsed JSON; a `metav1.Status` when the call was refused. */
  // oxlint-disable-next-line typescript/no-explicit-any -- whatever the API server says; tests look into it
  body: any
}

export interface CallOptions {
  /** Default: `application/json`. */
  contentType?: string
  headers?: Record<string, string>
}

/** Somebody who may call the API server. */
export interface Account {
  name: string
  /** Path of a kubeconfig file, for kubectl and for the product. */
  kubeconfig: string
  identity: Identity
  /** One call; refusals are answers, not errors. */
  call(method: string, path: string, body?: unknown, options?: CallOptions): Promise<Answer>
  /** As `call`, but rejects with what the API server said when it refuses. */
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
    call: (method, path, body, options = {}) => call(identity, { method, path, body, ...options }),
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

function call(
  { server, ca, certificate, key, token }: Identity,
  { method, path, body, contentType = 'application/json', headers = {} }: CallOptions & CallTarget,
): Promise<Answer> {
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
          resolve({ status: response.statusCode ?? 0, body: parsed(text) })
        })
      },
    )
    outgoing.once('error', reject)
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
