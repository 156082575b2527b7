import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

/** A way to a server that can be cut: what a stopped PostgreSQL, or a network, looks like from here. */
export interface TcpProxy {
  /** The same address with the proxy's port. */
  url: string
  /** Connections are refused, and those that are there are reset. */
  cut(): void
  mend(): void
  close(): Promise<void>
}

export async function tcpProxy(target: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer((near) => {
    if (isCut) {
      near.resetAndDestroy()
      return
    }
    const far = connect(Number(port), hostname)
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.pipe(other)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(target)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const destroyAll = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: url.href,
    cut() {
      isCut = true
      destroyAll()
    },
    mend() {
      isCut = false
    },
    async close() {
      destroyAll()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
