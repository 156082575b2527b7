import { connect } from 'node:net'
import type { Socket } from 'node:net'

/** A connection on which a test writes what no HTTP library would. */
export interface RawConnection {
  socket: Socket
  /** Everything that came, once the other side has closed. */
  closed: Promise<string>
  /** What has come so far. */
  received(): string
}

export function openRaw(url: string): RawConnection {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  let text = ''
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    text += chunk
  })
  // A connection that is reset has been closed as well.
  socket.on('error', () => {})
  const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(text)))
  return { socket, closed, received: () => text }
}

/** Sends bytes as they are and waits until the server closes the connection. */
export async function sendRaw(url: string, bytes: string): Promise<string> {
  const { socket, closed } = openRaw(url)
  socket.write(bytes, 'latin1')
  return closed
}

/** The status of the last answer in a raw text. */
export function statusOf(text: string): number {
  return Number([...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].at(-1)?.[1])
}
