import { createServer, request } from 'node:https'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Server as TlsServer } from 'node:tls'
import type { Socket } from 'node:net'
import type { ControlPlane } from './control_plane.ts'
import type { Account, Identity } from './control_plane/account.ts'
import type { Issued } from './control_plane/certificates.ts'

export interface SeenRequest {
  method: string
  /** Path and query. */
  url: string
  isWatch: boolean
  authorization: string | undefined
}

/**
 * The answer instead of the API server's; `hang` sends none, `drop` closes the connection. `unheard` is called when the API
 * server has answered: its answer is not passed on.
 */
export type Fault =
  | { status: number; retryAfter?: number; body?: object }
  | { unheard: () => void }
  | 'hang'
  | 'drop'
  | undefined

/** A proxy to an API server that injects faults. */
export interface FaultProxy {
  url: string
  /** All requests, in order. */
  requests: SeenRequest[]
  /** The number of connections since the start. */
  connections(): number
  /** The number of open watches. */
  watches(): number
  /** Applies the rule to each request, instead of the rule before. */
  setFault(rule: (request: SeenRequest) => Fault): void
  clearFault(): void
  /** Passes no events on any watch, or on watches whose URL contains the text, until it is set to false. */
  setSilence(on: boolean | string): void
  /** Passes no more events on the watches that are open now. Later ones work. */
  silenceOpen(): void
  /** Sends an event on every open watch whose URL contains `part`, and ends these. Returns their number. */
  inject(part: string, event: object): number
  /** Closes every connection at once. */
  cut(): void
  /** Uses another certificate for new connections. */
  showCertificate(certificate: Issued): void
  stop(): Promise<void>
}

export interface FaultProxyOptions {
  /** The account whose certificate the API server receives for a caller without a token. */
  as: Account
  /** Sends a bookmark so often on every watch that is not silent. API servers send one about every minute. */
  bookmarkMillis?: number | undefined
}

export async function startFaultProxy(plane: ControlPlane, options: FaultProxyOptions): Promise<FaultProxy> {
  const { url, authority } = plane
  const { as, bookmarkMillis } = options
  const requests: SeenRequest[] = []
  const sockets = new Set<Socket>()
  const watches = new Set<{ url: string; response: ServerResponse; isSilent: boolean }>()
  let connections = 0
  let rule: (request: SeenRequest) => Fault = () => undefined
  let silent: boolean | string = false

  const shown = authority.issueServer(['127.0.0.1'])
  const server: Server & TlsServer = createServer({ cert: shown.certificate, key: shown.key }, (incoming, response) => {
    const seen = requestOf(incoming)
    requests.push(seen)
    const fault = rule(seen)
    if (fault === 'hang') return
    if (fault === 'drop') return void incoming.socket.destroy()
    if (fault && 'status' in fault) return answer(response, fault)
    forward({ identity: as.identity, incoming, response, url })
      .then((answered) => (fault ? keepBack(answered, fault) : pass(answered, response, seen)))
      .catch(() => response.destroy())
  })
  server.on('connection', (socket) => {
    connections += 1
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })

  function pass(answered: IncomingMessage, response: ServerResponse, { isWatch, url }: SeenRequest): void {
    response.writeHead(answered.statusCode ?? 502, answered.headers)
    response.flushHeaders()
    const watch = { url, response, isSilent: false }
    if (isWatch) watches.add(watch)
    function write(text: Buffer | string): void {
      const isSilent = isWatch && (typeof silent === 'string' ? url.includes(silent) : silent)
      if (!isSilent && !watch.isSilent && !response.writableEnded) response.write(text)
    }
    answered.on('data', write)
    if (isWatch && bookmarkMillis !== undefined) {
      const bookmarks = bookmarksOf(url)
      answered.on('data', bookmarks.read)
      const timer = setInterval(() => {
        const bookmark = bookmarks.next()
        if (bookmark !== undefined) write(bookmark)
      }, bookmarkMillis)
      response.once('close', () => clearInterval(timer))
    }
    answered.once('end', () => response.end())
    answered.once('error', () => response.destroy())
    response.once('close', () => {
      watches.delete(watch)
      answered.destroy()
    })
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined

  return {
    url: `https://127.0.0.1:${port}`,
    requests,
    connections: () => connections,
    watches: () => watches.size,
    setFault(given) {
      rule = given
    },
    clearFault() {
      rule = () => undefined
    },
    setSilence(on) {
      silent = on
    },
    silenceOpen() {
      for (const watch of watches) watch.isSilent = true
    },
    inject(part, event) {
      const meant = [...watches].filter((watch) => watch.url.includes(part))
      for (const { response } of meant) response.end(`${JSON.stringify(event)}\n`)
      return meant.length
    },
    cut() {
      for (const socket of sockets) socket.destroy()
    },
    showCertificate({ certificate, key }) {
      server.setSecureContext({ cert: certificate, key })
    },
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

/** Bookmarks for the events of one watch that were read so far. */
function bookmarksOf(url: string): { read: (chunk: Buffer) => void; next: () => string | undefined } {
  let resourceVersion = new URL(url, 'https://localhost').searchParams.get('resourceVersion') ?? ''
  let rest = ''
  return {
    read(chunk) {
      const lines = (rest + chunk.toString('latin1')).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) resourceVersion = JSON.parse(line).object.metadata.resourceVersion ?? resourceVersion
    },
    // Not within an event that has arrived in part.
    next: () =>
      rest === '' ? `${JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion } } })}\n` : undefined,
  }
}

function requestOf({ method = '', url = '', headers }: IncomingMessage): SeenRequest {
  return { method, url, isWatch: /[?&]watch=(?:1|true)/.test(url), authorization: headers.authorization }
}

function answer(response: ServerResponse, { status, retryAfter, body }: Extract<Fault, { status: number }>): void {
  response.writeHead(status, {
    'Content-Type': 'application/json',
    ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
  })
  response.end(JSON.stringify(body ?? { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: status }))
}

function keepBack(answered: IncomingMessage, { unheard }: { unheard: () => void }): void {
  answered.resume()
  unheard()
}

function forward(options: {
  identity: Identity
  incoming: IncomingMessage
  response: ServerResponse
  url: string
}): Promise<IncomingMessage> {
  const { identity, incoming, response, url } = options
  const { host: _, connection: __, ...headers } = incoming.headers
  const own = headers.authorization === undefined ? { cert: identity.certificate, key: identity.key } : {}
  return new Promise((resolve, reject) => {
    const outgoing = request(url + (incoming.url ?? ''), {
      method: incoming.method,
      headers,
      ca: identity.ca,
      ...own,
    })
    outgoing.once('response', resolve)
    outgoing.once('error', reject)
    response.once('close', () => outgoing.destroy())
    incoming.pipe(outgoing)
  })
}
