import pg from 'pg'
import { eventually } from './eventually.ts'
import type { BenchWorld } from './world.ts'

/** Creates a separate database, so that its counters show the writes of one operator. Returns its URL. */
export async function ownDatabase(world: BenchWorld, name: string): Promise<string> {
  await world.pool.query(`create database ${name}`)
  const url = new URL(world.databaseUrl)
  url.pathname = `/${name}`
  return url.href
}

export async function query<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}

/** Whether exactly `wanted` users meet a condition; false while the table does not exist. */
export async function hasUsers(url: string, condition: string, wanted: number): Promise<boolean> {
  const rows = await query<{ n: string }>(url, `select count(*) as n from users where ${condition}`).catch(() => [])
  return Number(rows[0]?.n) === wanted
}

/** Rows inserted, updated or deleted in tables of configuration since the database was created. */
export async function rowsWritten(url: string): Promise<number> {
  const [row] = await query<{ n: string }>(
    url,
    `select sum(n_tup_ins + n_tup_upd + n_tup_del) as n from pg_stat_user_tables
      where relname in ('realms', 'clients', 'users', 'granted_roles', 'role_assignments', 'subjects', 'changes')`,
  )
  return Number(row?.n)
}

/** Resolves when the number of written rows is stable. Statistics reach the view about a second after a write. */
export async function eventuallyQuiet(url: string): Promise<void> {
  let last = -1
  await eventually(
    async () => {
      const now = await rowsWritten(url)
      const quiet = now === last
      last = now
      return quiet
    },
    { seconds: 60, everyMillis: 1_500 },
  )
}
