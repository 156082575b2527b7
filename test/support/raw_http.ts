import { connect } from 'node:net'
import type { Socket } from 'node:net'

/** A connection for bytes that no HTTP library writes. */
export interface RawConnection {
  socket: Socket
  /** Everything that was received, once the server has closed the connection. */
  closed: Promise<string>
  /** Everything that was received so far. */
  received: () => string
}

export function openRaw(url: string): RawConnection {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  let text = ''
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    text += chunk
  })
  // A reset also emits `close`.
  socket.on('error', () => {})
  const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(text)))
  return { socket, closed, received: () => text }
}

/** Sends these bytes and waits until the server closes the connection. */
export async function sendRaw(url: string, bytes: string): Promise<string> {
  const { socket, closed } = openRaw(url)
  socket.write(bytes, 'latin1')
  return closed
}

/** The status of the last answer in a raw text. */
export function statusOf(text: string): number {
  return Number([...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].at(-1)?.[1])
}
