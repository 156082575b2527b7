import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

export interface ConnectionLimits {
  /** Open connections of the server. */
  connections: number
  /** Requests of one connection that wait for their answers: a caller may send the next request before that. */
  unanswered: number
}

/** What ran out: connections of the server, or unanswered requests of one connection. */
export type ConnectionOverload = 'connections' | 'unanswered_requests'

export interface Connections {
  /** Calls `act` when every complete request of this connection is answered, at once when none waits. */
  whenAnswered(socket: Duplex, act: () => void): void
  /** Whether a request of this connection is not complete yet. */
  isReceiving(socket: Duplex): boolean
}

interface Connection {
  unanswered: Set<IncomingMessage>
  onAnswered?: () => void
}

/**
 * Bounds what callers without rights can occupy, and passes requests on to `listener`. With too many connections, the one
 * that has waited longest for its caller (idle, or for the rest of a request) is closed, so that callers who send nothing
 * keep no other out. With too many unanswered requests on one connection, it is closed; a client that sends requests
 * ahead must expect that (RFC 9112 section 9.3.2).
 * @param onOverload called for each connection that is closed
 */
export function limitConnections(
  server: Server,
  limits: ConnectionLimits,
  listener: RequestListener,
  onOverload: (what: ConnectionOverload) => void,
): Connections {
  // The longest waiting one comes first.
  const open = new Map<Duplex, Connection>()

  function admit(socket: Duplex): void {
    if (open.size >= limits.connections) {
      onOverload('connections')
      if (!closeLongestWaiting()) {
        socket.destroy()
        return
      }
    }
    open.set(socket, { unanswered: new Set() })
    socket.once('close', () => open.delete(socket))
  }

  /** False while every connection waits for the server itself. */
  function closeLongestWaiting(): boolean {
    for (const [socket, { unanswered }] of open) {
      if (hasComplete(unanswered)) continue
      open.delete(socket)
      socket.destroy()
      return true
    }
    return false
  }

  function moveToEnd(socket: Duplex, connection: Connection): void {
    if (!open.delete(socket)) return
    open.set(socket, connection)
  }

  function receive(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    const connection = open.get(socket)
    if (!connection) return
    if (connection.unanswered.size >= limits.unanswered) {
      onOverload('unanswered_requests')
      stopParsing(socket)
      socket.destroy()
      return
    }
    connection.unanswered.add(request)
    moveToEnd(socket, connection)
    response.once('close', () => {
      connection.unanswered.delete(request)
      moveToEnd(socket, connection)
      if (!hasComplete(connection.unanswered)) connection.onAnswered?.()
    })
    listener(request, response)
  }

  server.on('connection', admit)
  server.on('request', receive)
  // RFC 9110 section 10.1.1 allows a server to ignore an unknown expectation; Node would answer 417.
  server.on('checkExpectation', receive)

  return {
    whenAnswered(socket, act) {
      const connection = open.get(socket)
      if (!connection || !hasComplete(connection.unanswered)) act()
      else connection.onAnswered = act
    },
    isReceiving(socket) {
      return [...(open.get(socket)?.unanswered ?? [])].some(({ complete }) => !complete)
    },
  }
}

/**
 * Drops the rest of what was read: 64 KiB hold thousands of requests, and Node makes objects of 3 kB for each, also when
 * the socket is destroyed. Node has no public way to end the run of a parser; 2 is what it answers for an upgrade.
 */
function stopParsing(socket: Duplex): void {
  const parser: unknown = Reflect.get(socket, 'parser')
  if (typeof parser === 'object' && parser !== null) Reflect.set(parser, 'onIncoming', () => 2)
}

/** Whether the server has all of a request that it has not answered. */
function hasComplete(unanswered: ReadonlySet<IncomingMessage>): boolean {
  return [...unanswered].some(({ complete }) => complete)
}
