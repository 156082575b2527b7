import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findRealm } from '../../../store/realms.ts'
import { insertSession } from '../../support/sessions.ts'
import { client, namespace, realm, secret, user } from '../manifests.ts'
import { eventually, operatorUnderTest } from '../operator_under_test.ts'
import type { OperatorUnderTest } from '../operator_under_test.ts'
import { encryptingRealm, grantRealmAdmin, keyringFile, licensing } from './realm_under_test.ts'

const DAY = 86_400_000

describe('a Realm', () => {
  let operator: OperatorUnderTest
  let now = new Date()
  beforeEach(async () => {
    now = new Date()
    operator = await operatorUnderTest({ now: () => now })
  })
  afterEach(() => operator.end())

  const rowOf = (name: string) => findRealm(operator.database.pool, name)
  const reason = (type: string): string | undefined => operator.condition('Realm', 'shop', type)?.reason
  const isGone = (name: string): Promise<void> => eventually(() => expect(operator.find('Realm', name)).toBeUndefined())

  async function logIn(): Promise<string> {
    const sid = crypto.randomUUID()
    const soon = new Date(Date.now() + 3_600_000)
    const times = { authTime: new Date(), expiresAt: soon, idleExpiresAt: soon }
    const session = { realm: 'shop', sid, clientId: 'web', subject: 'sub', requestedScope: 'openid', refreshKid: 'k' }
    await insertSession(operator.database.pool, { ...session, ...times })
    return sid
  }
  const endOf = async (sid: string): Promise<string | null | undefined> =>
    (await operator.rows<{ end_reason: string | null }>('select end_reason from sessions where sid = $1', sid))[0]
      ?.end_reason

  test('becomes a row and a keyring, and is Ready', async () => {
    await operator.write(
      'realm.yaml',
      realm('shop', { roles: [{ name: 'a', composites: ['b'] }], displayName: 'Shop' }),
    )
    await operator.start()
    await operator.untilReady('Realm', 'shop')
    expect(await rowOf('shop')).toMatchObject({
      displayName: 'Shop',
      roles: [{ name: 'a', composites: ['b'] }],
      tokens: { accessTokenLifetimeSeconds: 300, signingAlgorithm: 'ES256' },
      keyringNamespace: 'realmkeeper',
      keyringName: 'realm-shop-keyring',
    })
    const keyring = await keyringFile(operator).keyring()
    expect(keyring.owner).toEqual({ namespace: 'default', name: 'shop' })
    expect(keyring.signing).toEqual([expect.objectContaining({ alg: 'ES256', state: 'active' })])
    expect(keyring.refresh).toEqual([expect.objectContaining({ state: 'active' })])
    expect(keyring.encryption).toEqual([])
    const status = operator.find('Realm', 'shop')?.status
    expect(status).toMatchObject({
      issuer: 'http://localhost:8080/auth/realms/shop',
      keys: { signing: [{ kid: keyring.signing[0]?.kid, algorithm: 'ES256', state: 'active' }] },
    })
    expect(JSON.stringify(status)).not.toContain(keyring.signing[0]?.jwk.d)
    const { KeysReady, LicenseValid, GovernanceEnabled, RealmAdminAssigned, ApprovalEnforced, FieldEncryptionReady } =
      Object.fromEntries((status?.conditions ?? []).map((each) => [each.type, `${each.status} ${each.reason}`]))
    expect({
      KeysReady,
      LicenseValid,
      GovernanceEnabled,
      RealmAdminAssigned,
      ApprovalEnforced,
      FieldEncryptionReady,
    }).toEqual({
      KeysReady: 'True KeysAvailable',
      LicenseValid: 'False NoIdentityProvider',
      GovernanceEnabled: 'False GovernanceDisabled',
      RealmAdminAssigned: 'False RealmAdminNotAssigned',
      ApprovalEnforced: 'False Development',
      FieldEncryptionReady: 'False NoFields',
    })
    expect(operator.events).toEqual([])
  })

  test('writes nothing at a restart, and notifies servers of an edit', async () => {
    await operator.write('realm.yaml', realm())
    await operator.start()
    await operator.untilReady('Realm', 'shop')
    const before = { keyring: await keyringFile(operator).text(), row: await rowOf('shop') }
    await operator.stop()
    await operator.start()
    await operator.write('other.yaml', realm('other'))
    await operator.untilReady('Realm', 'other')
    expect({ keyring: await keyringFile(operator).text(), row: await rowOf('shop') }).toEqual(before)
    const changes = () => operator.rows(`select 1 from changes where realm = 'shop'`)
    expect(await changes()).toHaveLength(1)
    await operator.write('realm.yaml', realm('shop', { enabled: false }))
    await eventually(async () => expect(await rowOf('shop')).toMatchObject({ enabled: false, generation: 2 }))
    expect(await changes()).toHaveLength(2)
  })

  test('field encryption starts when license, governance and administrator are present, and lapses with them', async () => {
    const { file, license } = await licensing(operator)
    await operator.write(
      'realm.yaml',
      realm('shop', { fieldEncryption: { fields: [{ name: 'dateOfBirth', tag: 'dob' }] } }),
    )
    await operator.write('license.yaml', await license(new Date(now.getTime() + 60 * DAY)))
    await operator.start({}, { licenseKeys: file })
    await operator.untilReady('Realm', 'shop')
    expect(reason('FieldEncryptionReady')).toBe('NoIdentityProvider')
    expect(operator.condition('Realm', 'shop', 'FieldEncryptionReady')?.message).toContain('GovernanceEnabled')
    expect((await rowOf('shop'))?.encryption.missing).toEqual([
      'NoIdentityProvider',
      'GovernanceDisabled',
      'RealmAdminNotAssigned',
    ])

    await operator.write('realm.yaml', encryptingRealm())
    await eventually(() => expect(reason('FieldEncryptionReady')).toBe('RealmAdminNotAssigned'))
    expect((await keyringFile(operator).keyring()).encryption).toEqual([])

    await grantRealmAdmin(operator)
    await operator.write('realm.yaml', encryptingRealm(undefined, { poke: '1' }))
    await eventually(() => expect(reason('FieldEncryptionReady')).toBe('Available'))
    const [key] = (await keyringFile(operator).keyring()).encryption
    expect(key).toMatchObject({ version: 1, state: 'primary' })
    expect(await operator.rows('select version::int, fingerprint, state from key_versions')).toEqual([
      { version: 1, fingerprint: key?.fingerprint, state: 'primary' },
    ])
    expect(operator.find('Realm', 'shop')?.status).toMatchObject({
      encryptionFields: [
        { name: 'dateOfBirth', tag: 'dob', encryptRole: '_svc_dob.selfencrypt', decryptRole: '_svc_dob.selfdecrypt' },
      ],
      keys: { encryption: [{ version: 1, state: 'primary', fingerprint: key?.fingerprint }] },
    })
    const until = new Date(Math.floor((now.getTime() + 60 * DAY) / 1000) * 1000)
    expect((await rowOf('shop'))?.encryption).toEqual({ missing: [], licenseExpiresAt: until.toISOString() })

    // Expiring from thirty days before its end, then expired; the key stays.
    now = new Date(now.getTime() + 31 * DAY)
    await operator.write('realm.yaml', encryptingRealm(undefined, { poke: '2' }))
    await eventually(() => expect(reason('LicenseValid')).toBe('LicenseExpiring'))
    expect(operator.condition('Realm', 'shop', 'LicenseValid')?.status).toBe('True')
    now = new Date(now.getTime() + 31 * DAY)
    await operator.write('realm.yaml', encryptingRealm(undefined, { poke: '3' }))
    await eventually(() => expect(reason('FieldEncryptionReady')).toBe('LicenseExpired'))
    expect(operator.condition('Realm', 'shop')?.status).toBe('True')
    expect((await keyringFile(operator).keyring()).encryption).toHaveLength(1)
  })

  test('a field keeps its tag and binding, and a tag its field, also after it was removed for a while', async () => {
    await operator.write('realm.yaml', encryptingRealm([{ name: 'birth', tag: 'dob' }, { name: 'name' }]))
    await operator.start()
    await operator.untilReady('Realm', 'shop')
    await operator.write('realm.yaml', encryptingRealm([{ name: 'name' }]))
    await eventually(async () => expect((await rowOf('shop'))?.fields).toHaveLength(1))
    for (const other of [
      { name: 'birth', tag: 'other' },
      { name: 'birth', tag: 'dob', binding: 'Subject' },
      { name: 'death', tag: 'dob' },
    ]) {
      await operator.write('realm.yaml', encryptingRealm([other, { name: 'name' }]))
      await eventually(() => expect(reason('FieldEncryptionReady')).toBe('FieldTagReused'))
      await operator.write('realm.yaml', encryptingRealm([{ name: 'name' }]))
      await eventually(() => expect(reason('FieldEncryptionReady')).not.toBe('FieldTagReused'))
      expect((await rowOf('shop'))?.fields.map(({ name }) => name)).toEqual(['name'])
    }
    await operator.write(
      'realm.yaml',
      encryptingRealm([{ name: 'birth', tag: 'dob', maxValueBytes: 9 }, { name: 'name' }]),
    )
    await eventually(async () => expect((await rowOf('shop'))?.fields).toHaveLength(2))
  })

  test('row 91: reserved names are not served', async () => {
    await operator.write('realm.yaml', realm('admin'), realm('Bad', { realm: 'master' }))
    await operator.write('good.yaml', realm())
    await operator.start()
    await operator.untilReady('Realm', 'shop')
    expect(await operator.rows('select realm from realms')).toEqual([{ realm: 'shop' }])
  })

  test('row 94: a realm name has one Realm, until its owner transfers it', async () => {
    await operator.write('realm.yaml', realm())
    await operator.start()
    await operator.untilReady('Realm', 'shop')
    const sid = await logIn()
    await operator.write('ns.yaml', namespace('team'))
    await operator.write('thief.yaml', realm('shop', {}, { namespace: 'team' }))
    await operator.untilReady('Realm', 'shop', 'False', 'RealmNameTaken', 'team')
    expect(operator.condition('Realm', 'shop', 'Ready', 'team')?.message).toContain('default/shop')
    await operator.write('user.yaml', user('eve', { passwordSecretRef: undefined }, { namespace: 'team' }))
    await operator.untilReady('User', 'eve', 'False', 'RealmNotFound', 'team')
    expect(operator.condition('User', 'eve', 'Ready', 'team')?.message).toContain('RealmNameTaken')

    // Also after the owner was deleted.
    await operator.remove('realm.yaml')
    await isGone('shop')
    expect(await endOf(sid)).toBe('realm_removed')
    await operator.write('thief.yaml', realm('shop', { displayName: 'again' }, { namespace: 'team' }))
    await operator.untilReady('Realm', 'shop', 'False', 'RealmNameTaken', 'team')
    // Nor does its deletion delete the keys.
    await operator.write('thief.yaml', realm('shop', { deletionPolicy: 'Delete' }, { namespace: 'team' }))
    await operator.untilReady('Realm', 'shop', 'False', 'RealmNameTaken', 'team')
    await operator.remove('thief.yaml')
    await eventually(() => expect(operator.source().list('Realm')).toEqual([]))
    await operator.write('thief.yaml', realm('shop', {}, { namespace: 'team' }))
    await operator.untilReady('Realm', 'shop', 'False', 'RealmNameTaken', 'team')

    // Neither a writer of Secrets nor the other Realm can transfer it.
    const kids = (await keyringFile(operator).keyring()).signing.map(({ kid }) => kid)
    await keyringFile(operator).annotate({ 'realmkeeper.io/keyring-owner': 'team/shop' })
    await keyringFile(operator).editKeyring((keyring) => ({ ...keyring, owner: { namespace: 'team', name: 'shop' } }))
    const transfer = { annotations: { 'realmkeeper.io/transfer-realm-to': 'team/shop' } }
    await operator.write('thief.yaml', realm('shop', {}, { namespace: 'team', ...transfer }))
    await operator.untilReady('Realm', 'shop', 'False', 'RealmNameTaken', 'team')
    await operator.write('realm.yaml', realm())
    await operator.untilReady('Realm', 'shop')
    await eventually(async () =>
      expect((await keyringFile(operator).keyring()).owner).toEqual({ namespace: 'default', name: 'shop' }),
    )
    await operator.write('realm.yaml', realm('shop', {}, transfer))
    await operator.untilReady('Realm', 'shop', 'True', 'Available', 'team')
    await operator.untilReady('User', 'eve', 'True', undefined, 'team')
    const keyring = await keyringFile(operator).keyring()
    expect(keyring.owner).toEqual({ namespace: 'team', name: 'shop' })
    expect(keyring.signing.map(({ kid }) => kid)).toEqual(kids)
    await operator.untilReady('Realm', 'shop', 'False', 'RealmNameTaken')
    await operator.untilReady('User', 'eve', 'True', undefined, 'team')
    await eventually(async () =>
      expect(await operator.rows('select namespace from realms')).toEqual([{ namespace: 'team' }]),
    )
  })

  test('leaves its keyring when it is deleted, and adopts it when it is created again', async () => {
    await operator.write('realm.yaml', realm())
    await operator.start()
    await operator.untilReady('Realm', 'shop')
    const before = await keyringFile(operator).text()
    await operator.remove('realm.yaml')
    await isGone('shop')
    expect(await keyringFile(operator).text()).toBe(before)
    expect(await rowOf('shop')).toBeUndefined()
    await operator.write('realm.yaml', realm())
    await operator.untilReady('Realm', 'shop')
    expect(await keyringFile(operator).text()).toBe(before)
  })

  test('with deletionPolicy Delete, deletes its keys', async () => {
    await operator.write('realm.yaml', realm('shop', { deletionPolicy: 'Delete' }))
    await operator.start()
    await operator.untilReady('Realm', 'shop')
    await operator.rows(
      `insert into key_versions (realm, version, fingerprint, state, first_seen) values ('other', 1, 'x', 'primary', now())`,
    )
    await operator.remove('realm.yaml')
    await isGone('shop')
    await expect(keyringFile(operator).text()).rejects.toThrow('ENOENT')
    expect(await operator.rows('select realm from key_versions')).toEqual([{ realm: 'other' }])
  })

  test('row 117: deleted with everything that belongs to it, in any order, leaves nothing stuck', async () => {
    const all: [string, ...Parameters<OperatorUnderTest['write']>[1][]][] = [
      ['realm.yaml', realm()],
      ['client.yaml', client('web')],
      [
        'user.yaml',
        user('alice', { passwordSecretRef: { name: 'pw', key: 'password' } }),
        secret('pw', { password: 'alice-password' }),
      ],
    ]
    await operator.start()
    for (const order of [[0, 1, 2], [2, 1, 0], [1, 0, 2], [-1]]) {
      for (const [file, ...documents] of all) await operator.write(file, ...documents)
      await operator.untilReady('User', 'alice')
      await operator.untilReady('Client', 'web')
      for (const at of order[0] === -1 ? [0, 1, 2] : order) {
        await operator.remove(all[at]?.[0] ?? '')
        // In one file, or one by one.
        if (order[0] !== -1)
          await eventually(() =>
            expect(operator.source().list((['Realm', 'Client', 'User'] as const)[at] ?? 'Realm')).toEqual([]),
          )
      }
      await eventually(() => {
        for (const kind of ['Realm', 'Client', 'User'] as const) expect(operator.source().list(kind)).toEqual([])
      })
      for (const table of ['realms', 'clients', 'users'])
        expect(await operator.rows(`select * from ${table}`)).toEqual([])
    }
  })
})
