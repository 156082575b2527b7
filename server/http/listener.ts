import { createServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import { randomUUID } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { limitConnections } from '../../process/connections.ts'
import type { ConnectionLimits, ConnectionOverload } from '../../process/connections.ts'

/** How long a caller may take. Milliseconds. */
export interface Timeouts {
  headers: number
  /** The whole request, its body included. */
  request: number
  /** Idle socket during a request: callers that do not read their answers. */
  idle: number
  /** Between two requests. Longer than proxies wait, so that the proxy closes the connection. */
  keepAlive: number
  /** The interval at which `headers` and `request` are checked. */
  check: number
  /** How long the rest of an input is dropped that the server does not want, until the caller ends its side. */
  linger: number
}

const TIMEOUTS: Timeouts = {
  headers: 10_000,
  request: 30_000,
  idle: 60_000,
  keepAlive: 65_000,
  check: 2_000,
  linger: 2_000,
}

/** A connection takes some 30 KiB, and up to 16 KiB of an unfinished body. */
const LIMITS: ConnectionLimits = { connections: 1_000, unanswered: 16 }

export interface ListenerOptions {
  /** Headers of every answer, also to bytes that are no HTTP request. */
  always: Readonly<Record<string, string>>
  timeouts?: Timeouts
  /** Called for each connection that is closed for overload. */
  onOverload: (what: ConnectionOverload) => void
}

/** The HTTP server with bounds for connections and for the time and size of a request, so that callers do not exhaust it. */
export function createListener(
  listener: RequestListener,
  { always, timeouts = TIMEOUTS, onOverload }: ListenerOptions,
): Server {
  const server = createServer({
    maxHeaderSize: 16 * 1024,
    headersTimeout: timeouts.headers,
    requestTimeout: timeouts.request,
    connectionsCheckingInterval: timeouts.check,
    keepAliveTimeout: timeouts.keepAlive,
    noDelay: true,
    // `checkHead` refuses it with a JSON error and all headers; Node's own answer has neither.
    requireHostHeader: false,
  })
  server.setTimeout(timeouts.idle)
  const connections = limitConnections(server, LIMITS, listener, onOverload)
  server.on('connection', (socket) => {
    // Node calls it after the last answer.
    const destroySoon = socket.destroySoon.bind(socket)
    socket.destroySoon = () => (connections.isReceiving(socket) ? closeUnread(socket, timeouts.linger) : destroySoon())
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // Sent earlier, it would take the place of the answer to a request that came before.
    connections.whenAnswered(socket, () => refuse(error, socket, { always, timeouts }))
  })
  return server
}

/** Connections whose input is dropped. Node still reports their end as an error. */
const unread = new WeakSet<Duplex>()

/**
 * Ends this side, and drops what comes until the caller ends its own. Closed with unread bytes, the connection would be
 * reset, and its caller might lose the answers that it has not read yet (RFC 9112 section 9.6). Nothing is parsed: a chunk
 * of one byte would take a microsecond.
 */
function closeUnread(socket: Duplex, lingerMillis: number): void {
  unread.add(socket)
  // Node's parser takes the bytes from the socket until there is a listener, and through a listener from then on.
  socket.removeAllListeners('data')
  // Frees the memory at once: garbage collection would leave tens of megabytes for a while. A chunk that shares its memory
  // with other buffers is left alone.
  socket.on('data', ({ buffer, length }: Buffer<ArrayBuffer>) => {
    if (buffer.byteLength === length) buffer.transfer(0)
  })
  socket.resume()
  socket.end()
  const timer = setTimeout(() => socket.destroy(), lingerMillis)
  socket.once('close', () => clearTimeout(timer))
}

/** Answers bytes that Node's parser refuses, in the form of every other error. */
function refuse(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  { always, timeouts }: Pick<Required<ListenerOptions>, 'always' | 'timeouts'>,
): void {
  if (unread.has(socket)) return
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const [status, description] = answerFor(error.code)
  const body = JSON.stringify({ error: 'invalid_request', error_description: description })
  const headers = {
    ...always,
    'X-Request-Id': randomUUID(),
    'Cache-Control': 'no-store',
    Pragma: 'no-cache',
    Connection: 'close',
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  socket.write([`HTTP/1.1 ${status}`, ...lines, '', body].join('\r\n'))
  closeUnread(socket, timeouts.linger)
}

function answerFor(code: string | undefined): [status: string, description: string] {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return ['408 Request Timeout', 'The request took too long']
    case 'HPE_HEADER_OVERFLOW':
      return ['431 Request Header Fields Too Large', 'The headers are too large']
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return ['413 Content Too Large', 'The body is too large']
    default:
      return ['400 Bad Request', 'This is not a valid HTTP request']
  }
}
