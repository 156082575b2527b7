import { randomUUID } from 'node:crypto'
import { expect, it, onTestFinished } from 'vitest'
import { deleteClient, upsertClient } from '../../store/clients.ts'
import { inTransaction } from '../../store/db.ts'
import type { Db } from '../../store/db.ts'
import { deleteRealm, deleteRowsOfRealm, isBeingRemoved, listRealmRemovals, upsertRealm } from '../../store/realms.ts'
import { findLiveSessions } from '../../store/sessions/live_sessions.ts'
import { rotateSessions } from '../../store/sessions/rotation.ts'
import { deleteEndedSessions, endSessions, findSessionEnd } from '../../store/sessions/session_ends.ts'
import type { SessionEnd, SessionOwner } from '../../store/sessions/session_ends.ts'
import { startSession } from '../../store/sessions/sessions.ts'
import { deleteUser, upsertUser } from '../../store/users.ts'
import { countOpenSessions, insertManySessions } from '../support/many_sessions.ts'
import { clientRow, newSession, realmRow, userRow } from '../support/rows.ts'
import { describeOnEveryVersion } from './every_version.ts'

const now = new Date()

describeOnEveryVersion('ends of many sessions', (database) => {
  /** A realm with a client, a user and a way to log in. */
  async function world() {
    const { pool } = database()
    const realm = randomUUID()
    const [client, user] = [clientRow({ realm }), userRow({ realm, passwordSource: 'first' })]
    await upsertRealm(pool, realmRow({ realm }))
    await upsertClient(pool, client)
    await upsertUser(pool, user)
    const { clientId } = client
    const { subject } = user
    return {
      pool,
      realm,
      client,
      user,
      clientId,
      subject,
      /** The id of the new session; undefined when the login is refused. */
      login: async (db: Db = pool): Promise<string | undefined> => {
        const session = newSession(now, { realm, clientId, subject })
        const proof = { passwordSource: 'first', clientUid: client.resourceUid }
        return (await startSession(db, session, proof)) ? session.sid : undefined
      },
      /** Whether a check of the session, and a refresh, see that it is good. */
      isGood: async (sid: string | undefined, db: Db = pool): Promise<[boolean, string]> => {
        const [session] = await findLiveSessions(db, [{ realm, sid: sid ?? '' }], now)
        const rotation = { realm, sid: sid ?? '', clientId, generation: session?.generation ?? 0, now, graceSeconds: 0 }
        const next = { successorKid: 'kid', successorIdleExpiresAt: new Date(now.getTime() + 60_000) }
        const [outcome] = await rotateSessions(db, [{ ...rotation, ...next }])
        return [session?.ended === false, outcome?.outcome ?? '']
      },
    }
  }

  const owners: [string, (of: { realm: string; clientId: string; subject: string }) => SessionOwner][] = [
    ['client', ({ realm, clientId }) => ({ realm, clientId })],
    ['subject', ({ realm, subject }) => ({ realm, subject })],
    ['realm', ({ realm }) => ({ realm })],
  ]
  it.each(owners)('of a %s take effect at once, are worked off in batches, and spare later logins', async (_, of) => {
    const { pool, realm, clientId, subject, login, isGood } = await world()
    const before = await login()
    const neighbour = await world()
    const elsewhere = await neighbour.login()
    const other = await insertManySessions(pool, { realm: `${realm}-other`, clientId, subjects: [subject], count: 3 })
    await insertManySessions(pool, { realm, clientId, subjects: [subject], count: 30 })
    expect(await isGood(before)).toEqual([true, 'rotated'])

    expect(await endSessions(pool, of({ realm, clientId, subject }), 'client_removed', now, 10)).toEqual({
      ended: 10,
      isComplete: false,
    })
    expect(await countOpenSessions(pool, realm)).toBe(21)
    const sids = await pool.query<{ sid: string }>('select sid from sessions where realm = $1', [realm])
    for (const { sid } of sids.rows) expect(await isGood(sid)).toEqual([false, 'ended'])
    expect(await neighbour.isGood(elsewhere)).toEqual([true, 'rotated'])

    const after = await login()
    expect(await isGood(after)).toEqual([true, 'rotated'])
    const end = await endOf(pool, realm)
    expect(await deleteEndedSessions(pool, end, 8)).toEqual({ deleted: 8 })
    expect(await deleteEndedSessions(pool, end, 8)).toEqual({ deleted: 8 })
    expect(await deleteEndedSessions(pool, end, 8)).toEqual({ deleted: 5, total: 21 })
    expect(await endOf(pool, realm).catch(() => 'none')).toBe('none')
    expect(await countOpenSessions(pool, realm)).toBe(1)
    expect(await isGood(after)).toEqual([true, 'rotated'])
    expect(await countOpenSessions(pool, `${realm}-other`)).toBe(other)
  })

  type World = Awaited<ReturnType<typeof world>>
  const changes: [string, (of: World, db: Db) => Promise<unknown>][] = [
    ['client is removed', ({ client }, db) => deleteClient(db, client.resourceUid)],
    ['user is removed', ({ user }, db) => deleteUser(db, user.resourceUid)],
    [
      'user gets another password',
      ({ realm }, db) => db.query(`update users set password_source = 'second' where realm = $1`, [realm]),
    ],
    ['realm is removed', ({ realm }, db) => deleteRealm(db, realm, now, 0)],
  ]
  it.each(changes)('attack: a login that is under way while its %s does not outlive the end', async (what, change) => {
    const one = await world()
    const { pool, realm, clientId, subject, login, isGood } = one
    const client = await pool.connect()
    onTestFinished(() => client.release())
    await client.query('begin')
    const underWay = await login(client)
    expect(underWay).toBeDefined()

    const owner = what.startsWith('client')
      ? { realm, clientId }
      : what.startsWith('user')
        ? { realm, subject }
        : { realm }
    const end = inTransaction(pool, async (db) => {
      await change(one, db)
      return endSessions(db, owner, 'client_removed', now)
    })
    let hasEnded = false
    void end.finally(() => (hasEnded = true))
    // It waits for the login, or has missed its session.
    await expect.poll(async () => hasEnded || (await isWaiting(pool)), { timeout: 60_000 }).toBe(true)
    await client.query('commit')
    await end
    expect(await isGood(underWay)).toEqual([false, 'ended'])
    expect(await login()).toBeUndefined()
    await deleteRowsOfRealm(pool, realm, 10)
  })

  async function isWaiting(db: Db): Promise<boolean> {
    const { rowCount } = await db.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rowCount !== 0
  }

  it('cover a second time what began after the first', async () => {
    const { pool, realm, clientId, subject, login, isGood } = await world()
    await insertManySessions(pool, { realm, clientId, subjects: [subject], count: 5 })
    await endSessions(pool, { realm, subject }, 'password_changed', now, 2)
    const first = await endOf(pool, realm)
    const between = await login()
    await endSessions(pool, { realm, subject }, 'user_removed', now, 1)
    expect(await isGood(between)).toEqual([false, 'ended'])
    // A process that still works on the first end does not close the second one.
    expect(await deleteEndedSessions(pool, first, 100)).not.toHaveProperty('total')
    const second = await endOf(pool, realm)
    expect(second).toMatchObject({ reason: 'user_removed' })
    expect(await deleteEndedSessions(pool, second, 100)).toHaveProperty('total')
    expect(await countOpenSessions(pool, realm)).toBe(0)
  })

  it('stay until the last session is deleted, also one that another transaction holds', async () => {
    const { pool, realm, clientId, subject, isGood } = await world()
    await insertManySessions(pool, { realm, clientId, subjects: [subject], count: 5 })
    const client = await pool.connect()
    onTestFinished(() => client.release())
    await client.query('begin')
    // The first one, which no batch after the last one reaches.
    const { rows } = await client.query<{ sid: string }>(
      'select sid from sessions where realm = $1 order by sid limit 1 for update',
      [realm],
    )
    await endSessions(pool, { realm, clientId }, 'client_removed', now, 2)
    expect(await deleteEndedSessions(pool, await endOf(pool, realm), 100)).toEqual({ deleted: 2 })
    await client.query('rollback')
    expect(await isGood(rows[0]?.sid)).toEqual([false, 'ended'])
    expect(await deleteEndedSessions(pool, await endOf(pool, realm), 100)).toEqual({ deleted: 1, total: 3 })
  })

  it('attack: a session that is refreshed while its client is removed does not outlive the end', async () => {
    const { pool, realm, clientId, subject, login, isGood } = await world()
    const sid = await login()
    await insertManySessions(pool, { realm, clientId, subjects: [subject], count: 2 })
    const client = await pool.connect()
    onTestFinished(() => client.release())
    await client.query('begin')
    expect(await isGood(sid, client)).toEqual([true, 'rotated'])
    expect(await endSessions(pool, { realm, clientId }, 'client_removed', now)).toEqual({ ended: 2, isComplete: false })
    await client.query('commit')
    expect(await isGood(sid)).toEqual([false, 'ended'])
    expect(await deleteEndedSessions(pool, await endOf(pool, realm), 100)).toEqual({ deleted: 1, total: 1 })
  })

  it('end the sessions of a former server, which writes no number', async () => {
    const { pool, realm, clientId, subject, login, isGood } = await world()
    const sid = await login()
    await pool.query('update sessions set ends_seen = default where sid = $1', [sid])
    await insertManySessions(pool, { realm, clientId, subjects: [subject], count: 2 })
    await endSessions(pool, { realm, clientId }, 'client_removed', now, 0)
    expect(await isGood(sid)).toEqual([false, 'ended'])
    await deleteEndedSessions(pool, await endOf(pool, realm), 100)
  })

  it('no login passes once the row of its realm is gone, and its rows are deleted in batches', async () => {
    const { pool, realm, login } = await world()
    for (let n = 0; n < 5; n++) await upsertUser(pool, userRow({ realm, username: `user-${n}` }))
    await deleteRealm(pool, realm, now, 2)
    expect(await login()).toBeUndefined()
    expect(await isBeingRemoved(pool, realm)).toBe(true)
    expect(await listRealmRemovals(pool)).toEqual([realm])
    expect(await deleteRowsOfRealm(pool, realm, 3)).toBe(false)
    expect(await deleteRowsOfRealm(pool, realm, 3)).toBe(true)
    expect(await isBeingRemoved(pool, realm)).toBe(false)
    // The rows of a realm that took the name are not deleted.
    await upsertUser(pool, userRow({ realm }))
    expect(await deleteRowsOfRealm(pool, realm, 3)).toBe(true)
    const { rowCount } = await pool.query('select from users where realm = $1', [realm])
    expect(rowCount).toBe(1)
  })

  async function endOf(db: Db, realm: string): Promise<SessionEnd> {
    const end = await findSessionEnd(db)
    if (end?.realm !== realm) throw new Error(`no end of ${realm}`)
    return end
  }
})
