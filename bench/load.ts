import { connect } from 'node:net'
import type { Socket } from 'node:net'

/** One request. It is created for each call, so that a refresh can contain the last token. */
export interface Call {
  method: 'GET' | 'POST'
  path: string
  headers: Record<string, string>
  body?: string
}

export interface Load {
  port: number
  connections: number
  /** Seconds. */
  duration: number
  /** The next request of one of the connections. */
  next: (connection: number) => Call
  /** Called with each answer. Any other status than `wantedStatus` ends the run. */
  onAnswer?: (connection: number, body: string) => void
  wantedStatus: number
}

export interface Throughput {
  perSecond: number
  /** Milliseconds. */
  medianLatency: number
  p99Latency: number
}

/**
 * Sends requests to a server on this machine over keep-alive connections, one request at a time on each, for
 * `duration`. It is a minimal client, so that its own cost is small and equal for the server and its floor.
 */
export async function drive(load: Load): Promise<Throughput> {
  const latencies: number[] = []
  const started = performance.now()
  const deadline = started + load.duration * 1000
  await Promise.all(
    Array.from({ length: load.connections }, (_, connection) => driveOne(load, connection, deadline, latencies)),
  )
  const seconds = (performance.now() - started) / 1000
  latencies.sort((a, b) => a - b)
  return {
    perSecond: latencies.length / seconds,
    medianLatency: quantile(latencies, 0.5),
    p99Latency: quantile(latencies, 0.99),
  }
}

export function quantile(sorted: number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN
}

async function driveOne(load: Load, connection: number, deadline: number, latencies: number[]): Promise<void> {
  const socket = connect({ port: load.port, host: '127.0.0.1', noDelay: true })
  const answers = answerReader(socket)
  try {
    while (performance.now() < deadline) {
      const sent = performance.now()
      socket.write(wire(load.next(connection)))
      const { status, body } = await answers()
      if (status !== load.wantedStatus)
        throw new Error(`answered ${status}, not ${load.wantedStatus}: ${body.slice(0, 300)}`)
      latencies.push(performance.now() - sent)
      load.onAnswer?.(connection, body)
    }
  } finally {
    socket.destroy()
  }
}

function wire({ method, path, headers, body = '' }: Call): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const length = method === 'POST' ? `Content-Length: ${Buffer.byteLength(body)}\r\n` : ''
  return `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${lines.join('')}${length}\r\n${body}`
}

/** Reads answers with a Content-Length, one after the other. */
function answerReader(socket: Socket): () => Promise<{ status: number; body: string }> {
  let buffered = ''
  let settle:
    | { resolve: (answer: { status: number; body: string }) => void; reject: (error: Error) => void }
    | undefined
  const parse = (): void => {
    const end = buffered.indexOf('\r\n\r\n')
    if (end < 0 || !settle) return
    const head = buffered.slice(0, end)
    const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)
    if (buffered.length < end + 4 + length) return
    const body = buffered.slice(end + 4, end + 4 + length)
    buffered = buffered.slice(end + 4 + length)
    const { resolve } = settle
    settle = undefined
    resolve({ status: Number(head.slice(9, 12)), body })
  }
  // latin1 has one character per byte, so the length of the text is the length in bytes.
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    buffered += chunk
    parse()
  })
  const fail = (error?: Error): void => settle?.reject(error ?? new Error('the connection was closed'))
  socket.on('error', fail)
  socket.on('close', () => fail())
  return () =>
    new Promise((resolve, reject) => {
      settle = { resolve, reject }
      parse()
    })
}
