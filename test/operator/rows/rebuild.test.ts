import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import argon2 from 'argon2'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { insertSession } from '../../support/sessions.ts'
import { impatientClock } from '../../support/impatient_clock.ts'
import { assignment, client, password, realm, secret, user } from '../manifests.ts'
import { eventually, operatorUnderTest } from '../operator_under_test.ts'
import type { OperatorUnderTest } from '../operator_under_test.ts'

const TABLES = ['granted_roles', 'role_assignments', 'users', 'clients', 'realms']
const HOUR = 3_600_000

describe('rows of configuration', () => {
  let operator: OperatorUnderTest
  let clock: ReturnType<typeof impatientClock>
  beforeEach(async () => {
    operator = await operatorUnderTest()
    clock = impatientClock()
    await operator.write('realm.yaml', realm('shop', { roles: [{ name: 'reader' }] }))
    await operator.write(
      'users.yaml',
      user('alice'),
      password('alice'),
      user('bob', { subject: 'pinned' }),
      password('bob'),
    )
    await operator.write(
      'clients.yaml',
      client('web'),
      client('api', REF),
      secret('api-secret', { client_secret: SECRET }),
    )
    await operator.write('roles.yaml', assignment('alice-reader', 'alice', ['reader']))
  })
  afterEach(() => operator.end())

  const SECRET = 'a-secret-that-is-long-enough'
  const REF = { clientSecret: { secretRef: { name: 'api-secret', key: 'client_secret' } } }

  async function allReady(): Promise<void> {
    await operator.untilReady('Realm', 'shop')
    for (const name of ['alice', 'bob']) await operator.untilReady('User', name)
    for (const name of ['web', 'api']) await operator.untilReady('Client', name)
    await operator.untilReady('RoleAssignment', 'alice-reader')
  }

  /** What a rebuild must restore. Hashes may differ, if they are of the same secrets. */
  const essence = async () => ({
    realms: await operator.rows('select realm, resource_uid, roles, keyring_name from realms'),
    users: await operator.rows(
      'select subject, username, subject_pinned, password_source from users order by username',
    ),
    clients: await operator.rows('select client_id, resource_uid, secret_source from clients order by client_id'),
    granted: await operator.rows('select subject, role, assignment_uid, expires_at from granted_roles'),
  })
  const written = async () => ({
    rows: await Promise.all(
      TABLES.map((table) => operator.rows(`select xmin::text, t.* from ${table} t order by 2, 3`)),
    ),
    changes: await operator.rows('select id from changes'),
    audit: await operator.rows('select seq, hash from audit order by writer, seq'),
  })
  const counters = async (port: number): Promise<string> => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()

  test('are rebuilt after all were deleted: subjects, client ids, secrets, roles; sessions stay and nothing is audited', async () => {
    await operator.start()
    await allReady()
    const before = await essence()
    expect(before.granted).toHaveLength(1)
    const generated = await operator.source().secrets.read({ namespace: 'default', name: 'web-client' })
    const sid = crypto.randomUUID()
    const soon = new Date(Date.now() + HOUR)
    await insertSession(operator.database.pool, {
      realm: 'shop',
      sid,
      clientId: 'web',
      subject: 'pinned',
      requestedScope: 'openid',
      authTime: new Date(),
      expiresAt: soon,
      idleExpiresAt: soon,
      refreshKid: 'k',
    })
    const audit = await operator.rows('select seq from audit')
    await operator.stop()
    for (const table of TABLES) await operator.rows(`delete from ${table}`)
    await operator.start()
    await eventually(async () => expect(await essence()).toEqual(before))
    expect((await operator.source().secrets.read({ namespace: 'default', name: 'web-client' }))?.data).toEqual(
      generated?.data,
    )
    expect(await operator.rows('select ended_at from sessions')).toEqual([{ ended_at: null }])
    expect(await operator.rows('select seq from audit')).toEqual(audit)
    await allReady()
  })

  test('are not written at a restart, nor is a status or a keyring', async () => {
    await operator.start()
    await allReady()
    const before = await written()
    const keyring = await readFile(join(operator.stateDir, 'secrets/realmkeeper/realm-shop-keyring.json'))
    const versions = () =>
      (['Realm', 'Client', 'User', 'RoleAssignment'] as const).flatMap((kind) =>
        operator
          .source()
          .list(kind)
          .map(({ metadata }) => `${metadata.uid} ${metadata.resourceVersion}`),
      )
    const statuses = versions()
    await operator.stop()
    const { healthPort } = await operator.start()
    await eventually(async () =>
      expect(await counters(healthPort)).toMatch(/reconciles_total\{kind="RoleAssignment",result="ready"\} 1\n/),
    )
    await eventually(async () =>
      expect(await counters(healthPort)).toMatch(/reconciles_total\{kind="User",result="ready"\} 2\n/),
    )
    expect(await written()).toEqual(before)
    expect(versions()).toEqual(statuses)
    expect(await readFile(join(operator.stateDir, 'secrets/realmkeeper/realm-shop-keyring.json'))).toEqual(keyring)
  })

  test('row 123: changed by hand, are restored at the next resync, and counted', async () => {
    const { healthPort } = await operator.start({ clock })
    await allReady()
    const before = await essence()
    await operator.rows(`update users set enabled = false, username = 'mallory' where username = 'alice'`)
    await operator.rows(`update clients set settings = settings || '{"audiences": ["*"]}' where client_id = 'web'`)
    await operator.rows(`update clients set secret_hash = sha256('mine'), secret_salt = '' where client_id = 'api'`)
    await operator.rows(`update realms set enabled = false`)
    await operator.rows(`delete from users where username = 'bob'`)
    await operator.rows(
      `insert into users select realm, 'intruder', 'no-such-uid', namespace, 'intruder', 1, 'intruder', 'intruder', email, email_verified,
         first_name, last_name, enabled, attributes, subject_pinned, password_hash, password_source from users limit 1`,
    )
    await operator.rows(
      `insert into granted_roles values ('shop', 'User', 'pinned', 'reader', 'no-such-assignment', null)`,
    )
    // Not svc-realm-admin, which the realm's row depends on: a reconcile that is still queued would write that row, and
    // restore it, before the resync counts it.
    await operator.rows(`update granted_roles set role = 'writer' where role = 'reader' and subject <> 'pinned'`)
    clock.jump(HOUR)
    await eventually(async () => expect(await essence()).toEqual(before))
    await eventually(async () => {
      expect(await operator.rows('select enabled from realms')).toEqual([{ enabled: true }])
      expect(
        await operator.rows(`select settings->'audiences' as audiences from clients where client_id = 'web'`),
      ).toEqual([{ audiences: [] }])
      expect(await operator.rows(`select 1 from clients where secret_hash = sha256('mine')`)).toEqual([])
    })
    const drifted = async (): Promise<string | undefined> =>
      /drifted_rows_total \d+/.exec(await counters(healthPort))?.[0]
    const logged = (): unknown[] => operator.log.flatMap(({ drift }) => drift ?? [])
    await eventually(async () => expect(await drifted(), JSON.stringify(logged())).toMatch(/ 8$/))
    // Nor is a hash written by hand a former secret.
    expect(await operator.rows('select 1 from clients where previous_secret_hash is not null')).toEqual([])
  })

  test('row 123: a password hash of another password is replaced, one that a server renewed stays', async () => {
    await operator.start({ clock })
    await allReady()
    const renewed = await argon2.hash('alice-password-1', { memoryCost: 2048, timeCost: 1, parallelism: 1 })
    const foreign = await argon2.hash('mallory', { memoryCost: 1024, timeCost: 1, parallelism: 1 })
    await operator.rows(`update users set password_hash = $1 where username = 'alice'`, renewed)
    await operator.rows(`update users set password_hash = $1 where username = 'bob'`, foreign)
    const hashOf = async (name: string): Promise<string> =>
      String((await operator.rows('select password_hash from users where username = $1', name))[0]?.password_hash)
    clock.jump(HOUR)
    await eventually(async () => expect(await hashOf('bob')).not.toBe(foreign))
    expect(await argon2.verify(await hashOf('bob'), 'bob-password-1')).toBe(true)
    expect(await hashOf('alice')).toBe(renewed)
  })

  test('row 116: of resources without finalizer that are gone, are removed at the next resync, and their sessions end', async () => {
    await operator.start({ clock })
    await allReady()
    const sid = crypto.randomUUID()
    const soon = new Date(Date.now() + HOUR)
    const session = {
      realm: 'shop',
      sid,
      clientId: 'web',
      subject: 'pinned',
      requestedScope: 'openid',
      refreshKid: 'k',
    }
    await insertSession(operator.database.pool, {
      ...session,
      authTime: new Date(),
      expiresAt: soon,
      idleExpiresAt: soon,
    })
    // As after a finalizer was removed by hand while no operator ran: object and finalizer go in one write.
    await operator.stop()
    await forget(operator.stateDir, 'bob', 'alice-reader')
    await operator.write('users.yaml', user('alice'), password('alice'))
    await operator.remove('roles.yaml')
    await operator.start({ clock })
    await eventually(async () => expect((await essence()).users).toMatchObject([{ username: 'alice' }]))
    await eventually(async () => expect((await essence()).granted).toEqual([]))
    expect(await operator.rows('select end_reason from sessions')).toEqual([{ end_reason: 'user_removed' }])
  })

  test('row 118: of a kind that was re-created, stay until --accept-empty names the kind; grants do not', async () => {
    await operator.start({ clock })
    await allReady()
    await operator.stop()
    const { users, granted } = await essence()
    expect(granted).toHaveLength(1)
    await operator.rows(`update resource_lists set identity = 'of a kind that is gone'`)
    await forget(operator.stateDir, 'bob', 'alice', 'alice-reader')
    await operator.write('users.yaml')
    await operator.remove('roles.yaml')
    await operator.start({ clock })
    await eventually(async () => expect((await essence()).granted).toEqual([]))
    clock.jump(HOUR)
    await eventually(() => expect(JSON.stringify(operator.log)).toContain('--accept-empty User'))
    expect((await essence()).users).toEqual(users)
    // No object of the other two kinds is missing, so deletions from now on count.
    const waiting = await operator.rows(`select kind from resource_lists where identity = 'of a kind that is gone'`)
    expect(waiting.map(({ kind }) => kind)).toContain('User')
    expect(waiting.map(({ kind }) => kind)).not.toContain('Client')
    await operator.stop()
    await operator.start({ clock }, { acceptEmpty: 'User, Client,Realm' })
    await eventually(async () => expect((await essence()).users).toEqual([]))
  })

  test('are not swept while a file does not parse', async () => {
    await operator.start({ clock })
    await allReady()
    const { users } = await essence()
    await operator.stop()
    await forget(operator.stateDir, 'bob')
    await operator.write('users.yaml', user('alice'), password('alice'))
    await writeFile(join(operator.directory, 'broken.yaml'), 'kind: [')
    await operator.start({ clock })
    await operator.untilReady('Client', 'web')
    clock.jump(HOUR)
    await eventually(() => expect(operator.problems.join()).toContain('broken.yaml'))
    expect((await essence()).users).toEqual(users)
    await operator.remove('broken.yaml')
    await eventually(async () => expect((await essence()).users).toHaveLength(1))
  })
})

/** Removes objects from the state of the directory source, as an API server that was restored from a backup. */
async function forget(stateDir: string, ...names: string[]): Promise<void> {
  const path = join(stateDir, 'objects.jsonl')
  const lines = (await readFile(path, 'utf8')).split('\n')
  await writeFile(path, lines.filter((line) => !names.some((name) => line.includes(`"name":"${name}"`))).join('\n'))
}
