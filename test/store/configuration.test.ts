import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { deleteClient, findClient, upsertClient } from '../../store/clients.ts'
import { listDecisions, recordDecision } from '../../store/operator/decisions.ts'
import { listKeyVersions, recordKeyVersions } from '../../store/key_versions.ts'
import { acceptKeyLoss } from '../../store/keyring_records.ts'
import { findLiveSessions } from '../../store/sessions/live_sessions.ts'
import { deleteRealm, findRealm, upsertRealm } from '../../store/realms.ts'
import { beat, listLiveReplicas } from '../../store/replicas.ts'
import {
  deleteRoleAssignment,
  findGrantedRoles,
  realmAdminUntil,
  replaceGrantedRoles,
} from '../../store/role_assignments.ts'
import { insertSession } from '../support/sessions.ts'
import { claimSubject, deleteUser, findUserByUsername, renewPasswordHash, upsertUser } from '../../store/users.ts'
import { clientRow, newSession, realmRow, userRow } from '../support/rows.ts'
import { describeOnEveryVersion } from './every_version.ts'

const now = new Date('2030-01-01T00:00:00.000Z')
const after = (seconds: number): Date => new Date(now.getTime() + seconds * 1000)
let realms = 0
/** A realm of one's own, so that cases do not meet. */
const newRealm = (): string => `realm-${++realms}`

describeOnEveryVersion('rows of configuration', (database) => {
  describe('realms', () => {
    it('come back as they were written', async () => {
      const row = realmRow({
        realm: newRealm(),
        displayName: 'Ärger & Söhne',
        roles: [{ name: 'clerk', composites: ['reader'] }],
        fields: [{ name: 'dateOfBirth', tag: 'dob', binding: 'Subject', maxValueBytes: 64 }],
        encryption: { missing: [], licenseExpiresAt: '2031-01-01T00:00:00Z' },
      })
      await upsertRealm(database().pool, row)
      expect(await findRealm(database().pool, row.realm)).toEqual(row)
      await upsertRealm(database().pool, { ...row, generation: 2, displayName: null })
      expect(await findRealm(database().pool, row.realm)).toMatchObject({ generation: 2, displayName: null })
    })

    it('take every row of configuration with them, and no session', async () => {
      const { pool } = database()
      const realm = newRealm()
      const user = userRow({ realm })
      await upsertRealm(pool, realmRow({ realm }))
      await upsertClient(pool, clientRow({ realm }))
      await upsertUser(pool, user)
      await replaceGrantedRoles(pool, realm, randomUUID(), { kind: 'User', subject: user.subject }, [
        { role: 'clerk', expiresAt: null },
      ])
      await insertSession(pool, newSession(now, { realm }))
      await deleteRealm(pool, realm, new Date())
      const { rows } = await pool.query(
        `select 'realms' as kept from realms where realm = $1 union all select 'clients' from clients where realm = $1
         union all select 'users' from users where realm = $1
         union all select 'granted_roles' from granted_roles where realm = $1
         union all select 'sessions' from sessions where realm = $1`,
        [realm],
      )
      expect(rows).toEqual([{ kept: 'sessions' }])
    })
  })

  describe('clients', () => {
    it('come back as they were written, and belong to one resource', async () => {
      const { pool } = database()
      const row = clientRow({ realm: newRealm(), secretSalt: Buffer.from('salt'), secretHash: Buffer.from('hash') })
      expect(await upsertClient(pool, row)).toBe(true)
      expect(await upsertClient(pool, { ...row, enabled: false })).toBe(true)
      expect(await upsertClient(pool, { ...row, resourceUid: randomUUID() })).toBe(false)
      expect(await findClient(pool, row.realm, row.clientId)).toEqual({ ...row, enabled: false })
      expect(await upsertClient(pool, { ...row, clientId: 'renamed' })).toBe(false)
      expect(await deleteClient(pool, row.resourceUid)).toEqual({ realm: row.realm, clientId: row.clientId })
      expect(await deleteClient(pool, row.resourceUid)).toBeUndefined()
    })
  })

  describe('users', () => {
    it('are found by any spelling of their name', async () => {
      const { pool } = database()
      const realm = newRealm()
      const row = userRow({ realm, username: 'Straße', attributes: { team: ['a', 'b'] } })
      expect(await upsertUser(pool, row)).toBe('written')
      for (const spelling of ['Straße', 'straße', 'STRAßE', 'Ｓtraße']) {
        expect(await findUserByUsername(pool, realm, spelling)).toEqual(row)
      }
      expect(await findUserByUsername(pool, realm, 'strasse')).toBeUndefined()
    })

    it('row 20: are not found by what is special elsewhere', async () => {
      const { pool } = database()
      const realm = newRealm()
      await upsertUser(pool, userRow({ realm }))
      for (const name of [`' OR 1=1--`, '%', '_____', 'a'.repeat(10_000), '\u202Ealice', 'аlice']) {
        expect(await findUserByUsername(pool, realm, name)).toBeUndefined()
      }
    })

    it('say which name is taken, and by whom it stays', async () => {
      const { pool } = database()
      const realm = newRealm()
      const alice = userRow({ realm })
      await upsertUser(pool, alice)
      expect(await upsertUser(pool, userRow({ realm, name: 'other', username: 'ALICE' }))).toBe('username_taken')
      const thief = userRow({ realm, name: 'thief', username: 'thief', subject: alice.subject })
      expect(await upsertUser(pool, thief)).toBe('subject_taken')
      expect(await findUserByUsername(pool, realm, 'alice')).toEqual(alice)
    })

    it('keep a password that changed while its former hash was renewed', async () => {
      const { pool } = database()
      const row = userRow({ realm: newRealm(), passwordHash: 'new' })
      await upsertUser(pool, row)
      await renewPasswordHash(pool, { ...row, passwordHash: 'former' }, 'renewed former')
      expect((await findUserByUsername(pool, row.realm, 'alice'))?.passwordHash).toBe('new')
      await renewPasswordHash(pool, { ...row, passwordHash: 'new' }, 'renewed')
      expect((await findUserByUsername(pool, row.realm, 'alice'))?.passwordHash).toBe('renewed')
    })

    it('go by their uid', async () => {
      const row = userRow({ realm: newRealm() })
      await upsertUser(database().pool, row)
      expect(await deleteUser(database().pool, row.resourceUid)).toEqual({ realm: row.realm, subject: row.subject })
      expect(await deleteUser(database().pool, row.resourceUid)).toBeUndefined()
    })
  })

  it('a subject belongs to its first owner for ever', async () => {
    const { pool } = database()
    const realm = newRealm()
    const alice = { namespace: 'identity', name: 'alice' }
    const racing = await Promise.all(
      ['alice', 'bob', 'carol'].map((name) => claimSubject(pool, realm, 'sub-1', { namespace: 'identity', name }, now)),
    )
    expect(new Set(racing.map(({ name }) => name)).size).toBe(1)
    expect(await claimSubject(pool, realm, 'sub-2', alice, now)).toEqual(alice)
    expect(await claimSubject(pool, realm, 'sub-2', { namespace: 'other', name: 'alice' }, now)).toEqual(alice)
  })

  describe('granted roles', () => {
    it('become what they are told to be, and tell when the last one ends', async () => {
      const { pool } = database()
      const realm = newRealm()
      const [first, second] = [randomUUID(), randomUUID()]
      const alice = { kind: 'User' as const, subject: 'sub-alice' }
      const give = (uid: string, roles: [string, Date | null][], subject = alice): Promise<void> =>
        replaceGrantedRoles(
          pool,
          realm,
          uid,
          subject,
          roles.map(([role, expiresAt]) => ({ role, expiresAt })),
        )

      await give(first, [
        ['clerk', null],
        ['svc-realm-admin', after(10)],
      ])
      await give(second, [['svc-realm-admin', after(20)]])
      expect(await realmAdminUntil(pool, realm, now)).toEqual(after(20))
      expect(await realmAdminUntil(pool, realm, after(20))).toBeUndefined()

      await give(first, [['svc-realm-admin', after(5)]])
      expect(await findGrantedRoles(pool, realm, first)).toEqual([
        { role: 'svc-realm-admin', expiresAt: after(5), kind: 'User', subject: 'sub-alice' },
      ])
      await give(first, [['svc-realm-admin', null]], { ...alice, subject: 'sub-other' })
      expect(await realmAdminUntil(pool, realm, now)).toBeNull()
      expect(await findGrantedRoles(pool, realm, first)).toMatchObject([{ subject: 'sub-other' }])
      await give(first, [])
      expect(await findGrantedRoles(pool, realm, first)).toEqual([])
      await deleteRoleAssignment(pool, second)
      expect(await realmAdminUntil(pool, realm, now)).toBeUndefined()
    })
  })

  describe('live sessions', () => {
    it('are read in one statement, each with its user and the roles that count at that moment', async () => {
      const { pool } = database()
      const realm = newRealm()
      const user = userRow({ realm, email: 'alice@example.com' })
      await upsertUser(pool, user)
      const group = { kind: 'Group' as const, subject: `default-roles-${realm}` }
      const alice = { kind: 'User' as const, subject: user.subject }
      await replaceGrantedRoles(pool, realm, randomUUID(), alice, [
        { role: 'clerk', expiresAt: after(10) },
        { role: 'reader', expiresAt: null },
      ])
      await replaceGrantedRoles(pool, realm, randomUUID(), group, [{ role: 'reader', expiresAt: null }])
      // A user whose subject is spelled like the group's name does not get the group's roles as their own.
      await replaceGrantedRoles(pool, realm, randomUUID(), { kind: 'User', subject: group.subject }, [
        { role: 'stolen', expiresAt: null },
      ])
      const session = newSession(now, { realm, subject: user.subject })
      const orphan = newSession(now, { realm })
      await insertSession(pool, session)
      await insertSession(pool, orphan)

      const read = (at: Date) =>
        findLiveSessions(pool, [session, { realm, sid: randomUUID() }, orphan, { ...session, realm: 'other' }], at)
      const [mine, unknown, userless, elsewhere] = await read(now)
      expect(mine).toMatchObject({ sid: session.sid, ended: false, user: { username: 'alice', email: user.email } })
      expect(mine?.grantedRoles.toSorted()).toEqual(['clerk', 'reader'])
      expect([unknown, elsewhere]).toEqual([undefined, undefined])
      expect(userless).toMatchObject({ user: null, grantedRoles: ['reader'] })
      expect((await read(after(10)))[0]?.grantedRoles).toEqual(['reader'])
    })
  })

  it('a decision is recorded once a name; Approved may become Denied, nothing turns Denied back', async () => {
    const { pool } = database()
    const assignmentUid = randomUUID()
    const decide = (approver: string, decision: 'Approved' | 'Denied', generation = 1): Promise<boolean> =>
      recordDecision(pool, {
        assignmentUid,
        generation,
        realm: 'acme',
        namespace: 'identity',
        name: 'clerks',
        approver,
        decision,
        form: 'entry',
        recordedAt: now,
      })
    expect(await decide('carol', 'Approved')).toBe(true)
    expect(await decide('CAROL', 'Approved')).toBe(false)
    expect(await decide('carol', 'Denied')).toBe(true)
    expect(await decide('Carol', 'Approved')).toBe(false)
    expect(await decide('carol', 'Approved', 2)).toBe(true)
    expect((await listDecisions(pool, assignmentUid)).map(({ decision }) => decision)).toEqual(['Denied', 'Approved'])
  })

  it('a key version keeps its first fingerprint for ever', async () => {
    const { pool } = database()
    const realm = newRealm()
    await recordKeyVersions(pool, realm, [{ version: 1, fingerprint: 'aa', state: 'pending' }], now)
    await recordKeyVersions(pool, realm, [{ version: 1, fingerprint: 'aa', state: 'primary' }], now)
    await recordKeyVersions(pool, realm, [{ version: 1, fingerprint: 'bb', state: 'destroyed' }], now)
    expect(await listKeyVersions(pool, realm)).toEqual([
      { version: 1, fingerprint: 'aa', state: 'primary', acceptedLossAt: null },
    ])
    await acceptKeyLoss(pool, realm, ['aa', 'cc'], now)
    expect(await listKeyVersions(pool, realm)).toMatchObject([{ acceptedLossAt: now }])
  })

  it('a replica lives for thirty seconds after its last beat', async () => {
    const { pool } = database()
    await beat(pool, { id: 'one', fingerprints: { acme: ['kid'] } }, 'server', now)
    await beat(pool, { id: 'two', fingerprints: {} }, 'server', after(5))
    await beat(pool, { id: 'leader', fingerprints: {} }, 'operator', after(5))
    expect((await listLiveReplicas(pool, after(29))).map(({ id }) => id)).toEqual(['one', 'two'])
    expect((await listLiveReplicas(pool, after(30))).map(({ id }) => id)).toEqual(['two'])
  })
})
