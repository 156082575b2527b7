import { connect, createServer } from 'node:net'
import { createSecureContext, TLSSocket } from 'node:tls'
import type { Issued } from './control_plane/certificates.ts'

/** A TLS proxy to a PostgreSQL that answers as one with `ssl = on`. */
export async function tlsFront(database: string, shown: Issued): Promise<{ url: URL; stop(): void }> {
  const target = new URL(database)
  const secureContext = createSecureContext({ cert: shown.certificate, key: shown.key })
  const server = createServer((near) => {
    near.on('error', () => {})
    // Accepts the SSLRequest.
    near.once('data', () => {
      near.write('S')
      const secure = new TLSSocket(near, { isServer: true, secureContext })
      const far = connect(Number(target.port), target.hostname)
      secure.on('error', () => far.destroy()).on('close', () => far.destroy())
      far.on('error', () => secure.destroy()).on('close', () => secure.destroy())
      secure.pipe(far).pipe(secure)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('it is no TCP port')
  const url = new URL(database)
  url.hostname = '127.0.0.1'
  url.port = String(address.port)
  return { url, stop: () => void server.close() }
}
