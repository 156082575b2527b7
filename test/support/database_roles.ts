import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import type { Pool } from 'pg'
import { createPool } from '../../store/db.ts'
import { recordSecrets } from './canary.ts'
import { testDatabase } from './postgres.ts'
import type { TestDatabase } from './postgres.ts'

export type RoleName = 'owner' | 'server' | 'operator'

/** A database without tables that belongs to the role `owner`, and two roles without rights. */
export interface RolesWorld {
  database: TestDatabase
  /** Names of the roles in PostgreSQL. They need quotes. */
  roles: Record<RoleName, string>
  urls: Record<RoleName, string>
  as(role: RoleName): Pool
  end(): Promise<void>
}

export async function databaseWithRoles(version: 18 | 14 = 18): Promise<RolesWorld> {
  const database = await testDatabase({ version, migrated: false })
  const suffix = randomBytes(4).toString('hex')
  const roles = { owner: `Owner-${suffix}`, server: `Server "x" ${suffix}`, operator: `Operator-${suffix}` }
  const pools = new Map<RoleName, Pool>()
  const urls: Partial<Record<RoleName, string>> = {}
  for (const role of ['owner', 'server', 'operator'] as const) {
    const name = roles[role]
    const password = randomBytes(12).toString('hex')
    recordSecrets(password)
    await database.pool.query(`create role ${quoted(name)} login password '${password}'`)
    const url = new URL(database.url)
    url.username = encodeURIComponent(name)
    url.password = password
    urls[role] = url.href
  }
  const databaseName = new URL(database.url).pathname.slice(1)
  await database.pool.query(`alter database ${databaseName} owner to ${quoted(roles.owner)}`)
  await database.pool.query(`grant all on schema public to ${quoted(roles.owner)}`)
  await database.pool.query('revoke create on schema public from public')

  return {
    database,
    roles,
    urls: urls as Record<RoleName, string>,
    as(role) {
      const pool =
        pools.get(role) ?? createPool({ connectionString: urls[role] ?? '', applicationName: role, maxConnections: 2 })
      pools.set(role, pool)
      return pool
    },
    async end() {
      await Promise.all([...pools.values()].map((pool) => pool.end()))
      await database.drop()
      const admin = new URL(database.url)
      admin.pathname = '/postgres'
      const client = new Client({ connectionString: admin.href })
      await client.connect()
      for (const name of Object.values(roles)) await client.query(`drop role ${quoted(name)}`)
      await client.end()
    },
  }
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
