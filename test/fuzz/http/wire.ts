import { connect } from 'node:net'
import type { Socket } from 'node:net'

/** A request as its bytes. */
export interface WireRequest {
  method: string
  bytes: Buffer
  /** HTTP allows it, so the server must answer it. To any other bytes, the end of the connection is an answer as well. */
  isValid: boolean
}

export interface WireAnswer {
  status: number
  /** By their names in lower case. */
  headers: Map<string, string>
  body: string
}

/** A connection that reads answers one after the other. */
export interface WireConnection {
  socket: Socket
  /** The next answer to a request of this method; undefined when the connection ends before. Rejects when neither happens. */
  answer: (method: string) => Promise<WireAnswer | undefined>
  /** Resolves when the server, or this side, has closed the connection. */
  closed: Promise<void>
}

/** The listener ends any request after 30 s, and an idle connection after 65 s. Leaves room for a busy machine. */
const HANG_MILLIS = 150_000

export function openWire(port: number): WireConnection {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true, allowHalfOpen: true })
  let received = ''
  let isClosed = false
  let wake: (() => void) | undefined
  // One character for each byte.
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    received += chunk
    wake?.()
  })
  socket.on('end', () => {
    isClosed = true
    if (socket.writable) socket.end()
    wake?.()
  })
  // A reset also emits `close`.
  socket.on('error', () => {})
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => {
      isClosed = true
      wake?.()
      resolve()
    })
  })

  async function answer(method: string): Promise<WireAnswer | undefined> {
    const deadline = performance.now() + HANG_MILLIS
    for (;;) {
      const parsed = parseAnswer(received, method)
      if (parsed) {
        received = received.slice(parsed.end)
        if (parsed.answer.status >= 200) return parsed.answer
        continue
      }
      if (isClosed) return undefined
      const left = deadline - performance.now()
      if (left <= 0) throw new Error(`no answer and no end of the connection within ${HANG_MILLIS / 1_000} s`)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }
  return { socket, answer, closed }
}

const BODILESS = new Set([204, 304])

/** The first answer of a text; undefined while it is not complete. */
function parseAnswer(text: string, method: string): { answer: WireAnswer; end: number } | undefined {
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const [first = '', ...lines] = text.slice(0, headEnd).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1])
  if (Number.isNaN(status)) throw new Error(`not the first line of an answer: ${JSON.stringify(first.slice(0, 200))}`)
  const headers = new Map(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
  const start = headEnd + 4
  const isBodiless = status < 200 || BODILESS.has(status) || method === 'HEAD'
  const length = isBodiless ? 0 : Number(headers.get('content-length'))
  if (Number.isNaN(length)) throw new Error(`an answer ${status} without a length`)
  if (text.length < start + length) return undefined
  const body = Buffer.from(text.slice(start, start + length), 'latin1').toString()
  return { answer: { status, headers, body }, end: start + length }
}
