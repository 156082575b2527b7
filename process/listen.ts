import type { Server } from 'node:net'
import { PlainError } from './plain_error.ts'

export interface ListenAt {
  host: string
  port: number
  /** How the person who starts the process chooses another port: `--listen-port`. */
  flag: string
}

/** The process cannot listen where it was told to. The message says what to do. */
export class ListenError extends PlainError {
  override readonly name = 'ListenError'
}

/** Listens; resolves with the port, which the system chooses when 0 was asked for. Throws ListenError. */
export async function listen(server: Server, { host, port, flag }: ListenAt): Promise<number> {
  try {
    return await listenOnce(server, host, port)
  } catch (error) {
    // A machine without IPv6: every address of the machine is then every IPv4 address.
    if (host === '::' && codeOf(error) === 'EAFNOSUPPORT') return listen(server, { host: '0.0.0.0', port, flag })
    throw new ListenError(explained(codeOf(error), host, port, flag), { cause: error })
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

function explained(code: string | undefined, host: string, port: number, flag: string): string {
  if (code === 'EADDRINUSE') {
    return `port ${port} on ${host} is in use: end what listens there, or choose another port with ${flag}`
  }
  if (code === 'EACCES')
    return `port ${port} on ${host} is not allowed to this user: choose one above 1023 with ${flag}`
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return `${host} is not an address of this machine: choose another with --listen-host`
  }
  return `cannot listen on port ${port} of ${host} (${code ?? 'unknown error'})`
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}
