import { beforeEach, afterEach, describe, expect, test } from 'vitest'
import { removeClient } from '../../../operator/client/rows.ts'
import { removeRealm, saveRealm } from '../../../operator/realm/rows.ts'
import { runRemainingDeletions } from '../../../operator/rows/remaining_deletions.ts'
import { createRows } from '../../../operator/rows/rows.ts'
import type { Rows } from '../../../operator/rows/rows.ts'
import { storeAccess } from '../../../operator/rows/store_access.ts'
import type { StoreAccess } from '../../../operator/rows/store_access.ts'
import { createLog } from '../../../process/log.ts'
import { Deposed, takeEpoch } from '../../../store/operator/epoch.ts'
import { upsertClient } from '../../../store/clients.ts'
import { upsertRealm } from '../../../store/realms.ts'
import { upsertUser } from '../../../store/users.ts'
import { countOpenSessions, insertManySessions } from '../../support/many_sessions.ts'
import { testDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'
import { clientRow, realmRow, userRow } from '../../support/rows.ts'

const SESSIONS = 7_000

let database: TestDatabase
beforeEach(async () => {
  database = await testDatabase()
})
afterEach(() => database.drop())

/** An operator that leads from now on. */
async function lead(): Promise<{ store: StoreAccess; rows: Rows }> {
  const epoch = await takeEpoch(database.pool, 'test')
  const store = storeAccess({ pool: database.pool, epoch, now: () => new Date(), auditWriter: 'operator/test' })
  const rows = createRows()
  await rows.load(store.db)
  return { store, rows }
}

/** Works on the remaining deletions until so many pauses, as an operator that is killed then would. */
async function work(
  operator: { store: StoreAccess; rows: Rows },
  pauses: number,
): Promise<{ deposed?: Deposed; pauses: number[] }> {
  const killed = new AbortController()
  const waited: number[] = []
  let deposed: Deposed | undefined
  const after = (millis: number, then: () => void): (() => void) => {
    waited.push(millis)
    if (waited.length === pauses) killed.abort()
    setImmediate(then)
    return () => {}
  }
  await runRemainingDeletions({
    ...operator,
    clock: { now: () => performance.now(), after },
    log: createLog({ name: 'test', level: 'error' }),
    onDeposed: (error) => void (deposed = error),
    signal: killed.signal,
  })
  return { ...(deposed && { deposed }), pauses: waited }
}

async function audited(): Promise<unknown[]> {
  const { rows } = await database.pool.query<{ details: string }>('select details from audit order by seq')
  return rows.map(({ details }) => JSON.parse(details))
}

describe('row 145: a removed client with many sessions', () => {
  test('is worked off by the next leader where the former one was killed, and by no deposed one', async () => {
    const { pool } = database
    const client = clientRow({ realm: 'shop', clientId: 'web' })
    await upsertClient(pool, client)
    await insertManySessions(pool, { realm: 'shop', clientId: 'web', subjects: ['alice'], count: SESSIONS })
    const first = await lead()
    expect(await removeClient(first, client.resourceUid)).toBe(true)
    expect((await pool.query('select from clients')).rowCount).toBe(0)
    expect(await countOpenSessions(pool, 'shop')).toBe(SESSIONS - 1_000)

    await work(first, 2)
    expect(await countOpenSessions(pool, 'shop')).toBe(SESSIONS - 3_000)
    const second = await lead()
    const { deposed } = await work(first, 100)
    expect(deposed).toBeInstanceOf(Deposed)
    expect(await countOpenSessions(pool, 'shop')).toBe(SESSIONS - 3_000)
    await work(second, 1)
    const third = await lead()
    await work(third, 5)
    expect(await countOpenSessions(pool, 'shop')).toBe(0)
    expect((await pool.query('select from session_ends')).rowCount).toBe(0)
    const whose = { clientId: 'web', reason: 'client_removed' }
    expect(await audited()).toEqual([
      { ...whose, sessions: '1000 and more' },
      { ...whose, sessions: SESSIONS - 1_000 },
    ])
  })
})

describe('a removed realm with many users', () => {
  const USERS = 3_500

  async function removed(operator: { store: StoreAccess; rows: Rows }): Promise<void> {
    const { pool } = database
    const realm = realmRow({ realm: 'shop' })
    await upsertRealm(pool, realm)
    await upsertUser(pool, userRow({ realm: 'shop' }))
    await pool.query(
      `insert into users select realm, subject || n, resource_uid || n, namespace, name || n, generation, username || n,
              username_key || n, email, email_verified, first_name, last_name, enabled, attributes, subject_pinned,
              password_hash, password_source
         from users, generate_series(2, $1::integer) n`,
      [USERS],
    )
    await operator.rows.load(pool)
    await removeRealm(operator, realm)
  }

  const countUsers = async (): Promise<number> =>
    Number((await database.pool.query('select count(*) as n from users')).rows[0].n)

  test('loses its row at once and its users in batches', async () => {
    const operator = await lead()
    await removed(operator)
    expect((await database.pool.query('select from realms')).rowCount).toBe(0)
    expect(await countUsers()).toBe(USERS - 1_000)
    await work(operator, 3)
    expect(await countUsers()).toBe(0)
    expect([...operator.rows.users.all()]).toEqual([])
  })

  test('gives its name to another Realm only without its users', async () => {
    const operator = await lead()
    await removed(operator)
    const next = await lead()
    await saveRealm(next, realmRow({ realm: 'shop' }))
    expect(await countUsers()).toBe(0)
    expect([...next.rows.users.all()]).toEqual([])
    await upsertUser(database.pool, userRow({ realm: 'shop' }))
    await work(next, 2)
    expect(await countUsers()).toBe(1)
  })
})
