import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

/** A proxy on which connections can go silent without breaking. */
export interface FreezingProxy {
  port: number
  /** The number of connections since the start. */
  opened(): number
  /** Passes no more data on the open connections. New ones work. */
  freeze(): void
  /** Resets all open connections. */
  cut(): void
  close(): Promise<void>
}

export async function freezingProxy(targetPort: number): Promise<FreezingProxy> {
  const pairs = new Set<[Socket, Socket]>()
  let opened = 0
  const server = createServer((near) => {
    opened += 1
    const far = connect(targetPort, '127.0.0.1')
    const pair: [Socket, Socket] = [near, far]
    pairs.add(pair)
    near.pipe(far)
    far.pipe(near)
    for (const socket of pair) {
      socket.on('error', () => undefined)
      socket.on('close', () => {
        pairs.delete(pair)
        near.destroy()
        far.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = (): void => {
    for (const [near, far] of pairs) {
      near.resetAndDestroy()
      far.destroy()
    }
  }
  return {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on TCP
    port: (server.address() as AddressInfo).port,
    opened: () => opened,
    freeze() {
      for (const [near, far] of pairs) far.unpipe(near).pause()
    },
    cut,
    async close() {
      cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
