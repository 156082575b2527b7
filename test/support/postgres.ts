import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import type { Pool } from 'pg'
import { inject } from 'vitest'
import { createPool } from '../../store/db.ts'
import type { PostgresServer } from './postgres_server.ts'

export interface TestDatabase {
  /** For child processes and other pools. */
  url: string
  pool: Pool
  /** Ends the pool and every other session, then drops the database. */
  drop(): Promise<void>
}

export interface TestDatabaseOptions {
  /** 14 is the oldest supported version, see `hasPostgres14`. */
  version?: 18 | 14
  /** With the schema (default) or without tables. */
  migrated?: boolean
}

/** False where npm has no binaries of PostgreSQL 14: `describe.skipIf(!hasPostgres14)('… on PostgreSQL 14', …)`. */
export const hasPostgres14 = inject('postgres14') !== undefined

/** Creates a database on the server of this test run. */
export async function testDatabase({ version = 18, migrated = true }: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const server = serverOf(version)
  const name = `test_${randomBytes(6).toString('hex')}`
  await asAdministrator(server, `create database ${name} template ${migrated ? 'template' : 'template0'}`)

  const url = new URL(server.url)
  url.pathname = `/${name}`
  const pool = createPool({ connectionString: url.href, applicationName: 'test', queryTimeoutMillis: 20_000 })
  return {
    url: url.href,
    pool,
    async drop() {
      await pool.end()
      await asAdministrator(server, `drop database if exists ${name} with (force)`)
    },
  }
}

function serverOf(version: 18 | 14): PostgresServer {
  const server = inject(version === 18 ? 'postgres' : 'postgres14')
  if (!server) throw new Error('PostgreSQL 14 is not installed: guard the suite with describe.skipIf(!hasPostgres14)')
  return server
}

async function asAdministrator(server: PostgresServer, statement: string): Promise<void> {
  const client = new Client({ connectionString: server.url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
