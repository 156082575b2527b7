import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { testDatabase } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'
import { ALICE, SHOP_SECRET, startServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

// A request that ends in 503 has changed nothing. The tests run at once, because each waits for the query timeout.

let database: TestDatabase
let server: TestServer
beforeAll(async () => {
  database = await testDatabase()
  server = await startServer({ database })
})
afterAll(async () => {
  await server?.stop()
  await database?.drop()
})

const unavailable = { status: 503, body: { error: 'temporarily_unavailable' } }

/** Another transaction locks the session's row against changes while `work` runs. */
async function whileLocked(sid: string, work: () => Promise<void>): Promise<void> {
  const client = new Client({ connectionString: database.url })
  await client.connect()
  await client.query('begin')
  await client.query('select 1 from sessions where sid = $1 for update', [sid])
  try {
    await work()
  } finally {
    await client.end()
  }
}

test.concurrent('row 32: a refresh that ends in 503 spends nothing: the same token works afterwards', async () => {
  const { body: first } = await server.token(ALICE)
  const refresh = () => server.token({ grant_type: 'refresh_token', refresh_token: first.refresh_token })
  await whileLocked(first.session_state, async () => {
    const answer = await refresh()
    expect(answer).toMatchObject(unavailable)
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
  })
  const again = await refresh()
  expect(again).toMatchObject({ status: 200 })
  expect(again.body.session_state).toBe(first.session_state)
  // The token was spent once.
  const { rows } = await database.pool.query('select generation from sessions where sid = $1', [first.session_state])
  expect(rows).toEqual([{ generation: 1 }])
})

test.concurrent('row 49: a logout that ends in 503 can be repeated', async () => {
  const { body: tokens } = await server.token(ALICE)
  const client = { client_id: 'shop', client_secret: SHOP_SECRET }
  const logout = () => server.request('logout', { form: { ...client, refresh_token: tokens.refresh_token } })
  const active = async () =>
    (await server.request('token/introspect', { form: { ...client, token: tokens.access_token } })).body.active
  await whileLocked(tokens.session_state, async () => {
    expect(await logout()).toMatchObject(unavailable)
    expect(await active()).toBe(true)
  })
  expect(await logout()).toMatchObject({ status: 204 })
  expect(await active()).toBe(false)
})
