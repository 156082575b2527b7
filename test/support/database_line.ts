import { testDatabase } from './postgres.ts'
import type { TestDatabase, TestDatabaseOptions } from './postgres.ts'
import { tcpProxy } from './tcp_proxy.ts'
import type { TcpProxy } from './tcp_proxy.ts'

export type DatabaseLine = TestDatabase & Pick<TcpProxy, 'cut' | 'freeze' | 'mend'>

/** A database whose `url` leads through a proxy that can fail; its `pool` does not use the proxy. */
export async function databaseLine(options?: TestDatabaseOptions): Promise<DatabaseLine> {
  const database = await testDatabase(options)
  const { url, cut, freeze, mend, close } = await tcpProxy(database.url)
  return {
    ...database,
    url,
    cut,
    freeze,
    mend,
    async drop() {
      await close()
      await database.drop()
    },
  }
}
