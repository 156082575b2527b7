import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Readiness } from '../../process/health.ts'
import { upsertClient } from '../../store/clients.ts'
import { migrate } from '../../store/schema/migrate.ts'
import { databaseLine } from '../support/database_line.ts'
import type { DatabaseLine } from '../support/database_line.ts'
import { eventually } from '../support/eventually.ts'
import { testDatabase } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'
import { addAcme, ALICE, startServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const readyz = async (server: TestServer) => {
  const response = await fetch(`${server.healthUrl}/readyz`)
  const body: Partial<Readiness> = JSON.parse(await response.text())
  return { status: response.status, body }
}
const unavailable = { status: 503, body: { error: 'temporarily_unavailable' } }

describe('row 76: Postgres is away when the server starts', () => {
  let line: DatabaseLine
  let server: TestServer
  beforeAll(async () => {
    line = await databaseLine()
    line.cut()
    server = await startServer({ database: line, waitUntilWarm: false })
  })
  afterAll(async () => {
    await server.stop()
    await line.drop()
  })

  test('the server is up, not ready, answers 503, and is ready soon after Postgres is there', async () => {
    expect((await fetch(`${server.healthUrl}/livez`)).status).toBe(200)
    expect(await readyz(server)).toMatchObject({ status: 503, body: { ready: false } })
    const answer = await server.token(ALICE)
    expect(answer).toMatchObject(unavailable)
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await server.request('certs')).toMatchObject(unavailable)
    line.mend()
    await eventually(async () => expect(await server.token(ALICE)).toMatchObject({ status: 200 }))
    await eventually(async () =>
      expect(await readyz(server)).toEqual({
        status: 200,
        body: { ready: true, checks: { postgres: 'ok', changes: 'ok', keyrings: 'ok' } },
      }),
    )
  })
})

test('rows 79, 86: it returns with an earlier state and another history: every row is read again', async () => {
  const line = await databaseLine()
  const server = await startServer({ database: line })
  const asMine = () => server.token({ ...ALICE, client_id: 'mine', client_secret: undefined })
  const mine = await server.addClient({ clientId: 'mine' })
  const later = await server.addClient({ clientId: 'later' })
  await eventually(async () => expect(await asMine()).toMatchObject({ status: 200 }))
  line.cut()
  // The standby had not heard of the last two changes; the numbers that they had are given to others.
  await line.pool.query('update change_counter set last_id = last_id - 2')
  await line.pool.query('delete from changes where id > (select last_id from change_counter)')
  await server.addClient({ ...mine, enabled: false })
  await server.addClient(later)
  await server.addClient({ clientId: 'latest' })
  line.mend()
  await eventually(async () => expect(await asMine()).toMatchObject({ status: 401 }))
  await server.stop()
  await line.drop()
})

describe('one database and a server', () => {
  let database: TestDatabase
  let server: TestServer
  beforeAll(async () => {
    database = await testDatabase()
    server = await startServer({ database, config: { databaseConnections: 3 } })
  })
  afterAll(async () => {
    await server.stop()
    await database.drop()
  })
  const killServersBackends = (application = 'realmkeeper-server%') =>
    database.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name like $1 and pid <> pg_backend_pid()`,
      [application],
    )

  /** Locks the table against reads and writes of others while `work` runs. */
  async function whileLocked(table: string, work: () => Promise<void>): Promise<void> {
    const client = new Client({ connectionString: database.url })
    await client.connect()
    await client.query(`begin; lock table ${table} in access exclusive mode`)
    try {
      await work()
    } finally {
      await client.end()
    }
  }

  test('row 77: all its connections are killed while it logs users in', async () => {
    const answers: number[] = []
    const over = new AbortController()
    const worker = async (): Promise<void> => {
      while (!over.signal.aborted) answers.push((await server.token(ALICE)).status)
    }
    const workers = [worker(), worker()]
    for (let round = 0; round < 5; round++) {
      await killServersBackends()
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    await eventually(async () => expect(await server.token(ALICE)).toMatchObject({ status: 200 }))
    over.abort()
    await Promise.all(workers)
    expect(answers.filter((status) => status !== 200 && status !== 503)).toEqual([])
    expect(answers).toContain(200)
  })

  test('row 79: read-only after a failover, then promoted: 503, and service again without a restart', async () => {
    const name = new URL(database.url).pathname.slice(1)
    const { body: tokens } = await server.token(ALICE)
    await database.pool.query(`alter database ${name} set default_transaction_read_only = on`)
    await killServersBackends()
    await eventually(async () => expect(await server.token(ALICE)).toMatchObject(unavailable))
    const logout = {
      form: { client_id: 'shop', client_secret: 'shop-secret-for-tests', refresh_token: tokens.refresh_token },
    }
    expect(await server.request('logout', logout)).toMatchObject(unavailable)
    // As a test's own connection was opened before, it may still write.
    await database.pool.query(`alter database ${name} set default_transaction_read_only = off`)
    await eventually(async () => expect(await server.token(ALICE)).toMatchObject({ status: 200 }))
    await eventually(async () => expect(await server.request('logout', logout)).toMatchObject({ status: 204 }))
  })

  test('row 80: every connection is busy: 503 within a bounded time, not ready, and service again when one is free', async () => {
    await whileLocked('users', async () => {
      const answers = await Promise.all(Array.from({ length: 12 }, () => server.token(ALICE)))
      for (const answer of answers) expect(answer).toMatchObject(unavailable)
      expect((await fetch(`${server.healthUrl}/livez`)).status).toBe(200)
    })
    // No password was checked, so no failure may be counted.
    expect((await database.pool.query('select failures from login_failures')).rows).toEqual([])
    await eventually(async () => expect(await server.token(ALICE)).toMatchObject({ status: 200 }))
    await eventually(async () => expect(await readyz(server)).toMatchObject({ status: 200 }))
  })

  test('row 82: notifications that are lost, doubled or large', async () => {
    const disable = async (enabled: boolean): Promise<void> => {
      const { rows } = await database.pool.query(
        `with next as (update change_counter set last_id = last_id + 1 returning last_id),
              changed as (update clients set enabled = $1 where client_id = 'app' returning 1)
         insert into changes (id, realm, kind, key, at) select last_id, 'acme', 'client', 'app', now() from next returning id`,
        [enabled],
      )
      expect(rows).toHaveLength(1)
    }
    const asApp = () => server.token({ ...ALICE, client_id: 'app', client_secret: undefined })
    // No NOTIFY is sent.
    await disable(false)
    await eventually(async () => expect(await asApp()).toMatchObject({ status: 401 }))
    // Many notifications without a change.
    await disable(true)
    for (let times = 0; times < 20; times++) {
      await database.pool.query(`select pg_notify('realmkeeper_changes', repeat('x', 7900))`)
    }
    await eventually(async () => expect(await asApp()).toMatchObject({ status: 200 }))
    // The one who listens is gone at that moment.
    await killServersBackends('realmkeeper-server-changes')
    await disable(false)
    await eventually(async () => expect(await asApp()).toMatchObject({ status: 401 }))
    // The change was swept from the log before a server read it.
    await killServersBackends('realmkeeper-server-changes')
    await disable(true)
    await database.pool.query('delete from changes')
    await eventually(async () => expect(await asApp()).toMatchObject({ status: 200 }))
  })

  test('while the change log cannot be followed rows are read for every answer', async () => {
    const app = await server.addClient({ clientId: 'direct' })
    const asDirect = () => server.token({ ...ALICE, client_id: 'direct', client_secret: undefined })
    await eventually(async () => expect(await asDirect()).toMatchObject({ status: 200 }))
    await whileLocked('change_counter', async () => {
      await eventually(async () => expect((await readyz(server)).body.checks?.changes).toContain('not followed'))
      // No entry in the log, no notification: seen at once all the same.
      await upsertClient(database.pool, { ...app, enabled: false })
      expect(await asDirect()).toMatchObject({ status: 401 })
      await upsertClient(database.pool, app)
      expect(await asDirect()).toMatchObject({ status: 200 })
      const none = await server.request('/auth/realms/none/protocol/openid-connect/token', { form: ALICE })
      expect(none).toMatchObject({ status: 404 })
      expect(await server.request('certs')).toMatchObject({ status: 200 })
    })
    await eventually(async () => expect((await readyz(server)).body.checks?.changes).toBe('ok'))
  })
})

test('a server waits for a schema that is not there yet', async () => {
  const database = await testDatabase({ migrated: false })
  const server = await startServer({ database, waitUntilWarm: false, prepare: async () => {} })
  expect((await readyz(server)).body.checks?.postgres).toContain('the schema is older than this process')
  for (const path of ['token', 'encrypt', 'certs', '/auth/realms/acme']) {
    const method = path === 'token' || path === 'encrypt' ? 'POST' : 'GET'
    const answer = await server.request(path, { method })
    expect(answer, path).toMatchObject(unavailable)
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
  }
  await migrate(database.url)
  await addAcme(server)
  await eventually(async () => expect(await server.token(ALICE)).toMatchObject({ status: 200 }))
  await server.stop()
  await database.drop()
})

test('a schema that is too new is refused at start, with both versions named', async () => {
  const database = await testDatabase()
  await database.pool.query(`insert into migrations (id, name, breaking) values (999999, 'from_the_future', true)`)
  await expect(startServer({ database })).rejects.toThrow(
    /schema version 999999 \(from_the_future\), which processes that know only version \d+/,
  )
  await database.drop()
})
