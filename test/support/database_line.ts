import { connect, createServer } from 'node:net'
import type { Socket } from 'node:net'
import { testDatabase } from './postgres.ts'
import type { TestDatabase, TestDatabaseOptions } from './postgres.ts'

export interface DatabaseLine extends TestDatabase {
  /** Every connection breaks, and no new one is let through. */
  cut(): void
  /** Connections stay, and nothing passes on them any more; so it is with new ones. */
  freeze(): void
  /** What was frozen before is cut. */
  mend(): void
}

/** A database that is reached by its `url` over a line that can be cut; its `pool` does not use the line. */
export async function databaseLine(options?: TestDatabaseOptions): Promise<DatabaseLine> {
  const database = await testDatabase(options)
  const target = new URL(database.url)
  const open = new Set<Socket>()
  let isCut = false
  let isFrozen = false

  const proxy = createServer((near) => {
    if (isCut) {
      near.destroy()
      return
    }
    const far = connect(Number(target.port), target.hostname)
    for (const [end, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(end)
      end
        .on('error', () => other.destroy())
        .on('close', () => {
          open.delete(end)
          other.destroy()
        })
      if (!isFrozen) end.pipe(other)
    }
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const address = proxy.address()
  if (typeof address !== 'object' || !address) throw new Error('the line is no TCP port')
  const url = new URL(database.url)
  url.hostname = '127.0.0.1'
  url.port = String(address.port)

  const cut = (): void => {
    isCut = true
    for (const socket of open) socket.destroy()
  }
  return {
    ...database,
    url: url.href,
    cut,
    freeze() {
      isFrozen = true
      for (const socket of open) socket.unpipe()
    },
    mend() {
      if (isFrozen) cut()
      isFrozen = false
      isCut = false
    },
    async drop() {
      cut()
      proxy.close()
      await database.drop()
    },
  }
}
