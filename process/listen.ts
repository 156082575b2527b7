import type { Server } from 'node:net'
import { PlainError } from './plain_error.ts'
import { errorCode } from './loggable.ts'

export interface ListenAt {
  host: string
  port: number
  /** The flag that sets the port, for the error message: `--listen-port`. */
  flag: string
}

/** The process cannot listen on the configured address or port. */
export class ListenError extends PlainError {
  override readonly name = 'ListenError'
}

/** Listens. Resolves with the port, which the system chooses when `port` is 0. Throws ListenError. */
export async function listen(server: Server, { host, port, flag }: ListenAt): Promise<number> {
  try {
    return await listenOnce(server, host, port)
  } catch (error) {
    const code = errorCode(error)
    // The machine has no IPv6: all its addresses are then 0.0.0.0.
    if (host === '::' && code === 'EAFNOSUPPORT') return listen(server, { host: '0.0.0.0', port, flag })
    throw new ListenError(messageOf(code, { host, port, flag }), { cause: error })
  }
}

function listenOnce(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => {
      server.off('error', reject)
      const address = server.address()
      resolve(typeof address === 'object' && address ? address.port : port)
    })
  })
}

function messageOf(code: string, { host, port, flag }: ListenAt): string {
  switch (code) {
    case 'EADDRINUSE':
      return `port ${port} on ${host} is in use: end the process that listens there, or choose another port with ${flag}`
    case 'EACCES':
      return `this user may not listen on port ${port} of ${host}: choose a port above 1023 with ${flag}`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is not an address of this machine: choose another with --listen-host`
    default:
      return `cannot listen on port ${port} of ${host} (${code})`
  }
}
