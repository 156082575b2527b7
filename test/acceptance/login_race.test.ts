import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findClient, upsertClient } from '../../store/clients.ts'
import { ALICE, startServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server?.stop())

const WAITING = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`

/** A login with the right password; before its session is written, another transaction changes the user or the client. */
async function loginDuring(change: string): Promise<{ status: number; body: object; sessions: number }> {
  const { pool, url } = server.database
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query('begin')
  await client.query(`select 1 from users where username = 'alice' for update`)
  const login = server.token(ALICE)
  // It waits for the row: it has read the user and checked the password.
  await expect.poll(async () => (await pool.query(WAITING)).rowCount, { timeout: 120_000 }).toBe(1)
  await client.query(change)
  await client.query('commit')
  await client.end()
  const { status, body } = await login
  const { rows } = await pool.query('select count(*)::int as count from sessions')
  return { status, body, sessions: rows[0].count }
}

const REFUSED = {
  status: 401,
  body: { error: 'invalid_grant', error_description: 'Invalid user credentials' },
  sessions: 0,
}

test.for([
  ['was deleted and created', `update clients set resource_uid = 'another' where client_id = 'shop'`],
  ['was removed', `delete from clients where client_id = 'shop'`],
] as const)('a login through a client that %s meanwhile leaves no session to outlive it', async ([, change]) => {
  const { pool } = server.database
  const shop = await findClient(pool, 'acme', 'shop')
  expect(await loginDuring(change)).toEqual(REFUSED)
  await pool.query(`delete from clients where client_id = 'shop'`)
  if (shop) await upsertClient(pool, shop)
})

test.for([
  ['was given another password', `update users set password_source = 'another' where username = 'alice'`],
  ['was disabled', `update users set enabled = false, password_source = 'test' where username = 'alice'`],
  ['was removed', `delete from users where username = 'alice'`],
] as const)('row 30: a login of a user who %s meanwhile gives no tokens and leaves no session', async ([, change]) => {
  expect(await loginDuring(change)).toEqual(REFUSED)
  await server.database.pool.query(`update users set enabled = true, password_source = 'test'`)
})
