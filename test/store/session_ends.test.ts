import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { upsertClient } from '../../store/clients.ts'
import type { Db } from '../../store/db.ts'
import { deleteRealm, deleteRowsOfRealm, isBeingRemoved, listRealmRemovals, upsertRealm } from '../../store/realms.ts'
import { findLiveSessions } from '../../store/sessions/live_sessions.ts'
import { rotateSessions } from '../../store/sessions/rotation.ts'
import { deleteEndedSessions, endSessions, findSessionEnd } from '../../store/sessions/session_ends.ts'
import type { SessionEnd, SessionOwner } from '../../store/sessions/session_ends.ts'
import { startSession } from '../../store/sessions/sessions.ts'
import { upsertUser } from '../../store/users.ts'
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
      clientId,
      subject,
      /** The id of the new session; undefined when the login is refused. */
      login: async (): Promise<string | undefined> => {
        const session = newSession(now, { realm, clientId, subject })
        const proof = { passwordSource: 'first', clientUid: client.resourceUid }
        return (await startSession(pool, session, proof)) ? session.sid : undefined
      },
      /** Whether a check of the session, and a refresh, see that it is good. */
      isGood: async (sid: string | undefined): Promise<[boolean, string]> => {
        const [session] = await findLiveSessions(pool, [{ realm, sid: sid ?? '' }], now)
        const rotation = { realm, sid: sid ?? '', clientId, generation: session?.generation ?? 0, now, graceSeconds: 0 }
        const next = { successorKid: 'kid', successorIdleExpiresAt: new Date(now.getTime() + 60_000) }
        const [outcome] = await rotateSessions(pool, [{ ...rotation, ...next }])
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
    const { pool, realm, clientId, subject, login, isGood } = await world()
    const held = await login()
    await insertManySessions(pool, { realm, clientId, subjects: [subject], count: 4 })
    const client = await pool.connect()
    await client.query('begin')
    await client.query('select from sessions where sid = $1 for update', [held])
    await endSessions(pool, { realm, clientId }, 'client_removed', now, 2)
    const end = await endOf(pool, realm)
    expect(await deleteEndedSessions(pool, end, 100)).toEqual({ deleted: 2 })
    await client.query('rollback')
    client.release()
    expect(await isGood(held)).toEqual([false, 'ended'])
    expect(await deleteEndedSessions(pool, end, 100)).toEqual({ deleted: 1, total: 3 })
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
