import { createServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import { randomUUID } from 'node:crypto'
import type { Duplex } from 'node:stream'

/** How long a caller may take. Milliseconds. */
export interface Patience {
  headers: number
  /** The whole request, its body included. */
  request: number
  /** Nothing comes and nothing goes: callers that do not read their answers. */
  silence: number
  /** Between two requests. Longer than a proxy keeps an idle connection, so that it is the proxy who closes it. */
  keepAlive: number
  /** How often the first two are looked at. */
  check: number
}

const PATIENCE: Patience = { headers: 10_000, request: 30_000, silence: 60_000, keepAlive: 65_000, check: 2_000 }

export interface ListenerOptions {
  /** Headers of every answer, also to what never became a request. */
  always: Readonly<Record<string, string>>
  patience?: Patience
}

/** The HTTP server with its bounds: nobody keeps a connection busy for longer than an honest caller needs. */
export function createListener(listener: RequestListener, { always, patience = PATIENCE }: ListenerOptions): Server {
  const server = createServer(
    {
      maxHeaderSize: 16 * 1024,
      headersTimeout: patience.headers,
      requestTimeout: patience.request,
      connectionsCheckingInterval: patience.check,
      keepAliveTimeout: patience.keepAlive,
      noDelay: true,
      // Node's own refusal is bare; `checkHead` refuses as everything is refused.
      requireHostHeader: false,
    },
    listener,
  )
  server.setTimeout(patience.silence)
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => refuse(error, socket, always))
  // RFC 9110 section 10.1.1 lets a server pass over an expectation that it does not know; Node's own refusal is bare.
  server.on('checkExpectation', listener)
  return server
}

/** What Node's parser refuses never becomes a request; the answer looks like all others. */
function refuse(error: NodeJS.ErrnoException, socket: Duplex, always: ListenerOptions['always']): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const [status, description] = answerTo(error.code)
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
  // Whatever else was sent is not read.
  socket.end([`HTTP/1.1 ${status}`, ...lines, '', body].join('\r\n'), () => socket.destroy())
}

function answerTo(code: string | undefined): [status: string, description: string] {
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
