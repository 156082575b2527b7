import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

/** A proxy to a server that can fail like a stopped PostgreSQL or a broken network. */
export interface TcpProxy {
  /** The address of the server with the port of the proxy. */
  url: string
  /** Resets all connections and refuses new ones. */
  cut: () => void
  /** Keeps connections open, also new ones, but passes no data. */
  freeze: () => void
  /** Passes data again. Resets the connections that were frozen. */
  mend: () => void
  close: () => Promise<void>
}

export async function tcpProxy(target: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let state: 'open' | 'cut' | 'frozen' = 'open'

  const server = createServer((near) => {
    if (state === 'cut') {
      near.resetAndDestroy()
      return
    }
    const far = connect(Number(port), hostname)
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
      if (state === 'open') one.pipe(other)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(target)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on TCP
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`

  const destroyAll = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: url.href,
    cut() {
      state = 'cut'
      destroyAll()
    },
    freeze() {
      state = 'frozen'
      for (const socket of sockets) socket.unpipe()
    },
    mend() {
      if (state === 'frozen') destroyAll()
      state = 'open'
    },
    async close() {
      destroyAll()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
