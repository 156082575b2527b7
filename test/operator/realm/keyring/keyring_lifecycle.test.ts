import { randomBytes } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { fingerprint } from '../../../../keyring/derivation.ts'
import { keyringDigest } from '../../../../keyring/continuity.ts'
import { beat } from '../../../../store/replicas.ts'
import { realm, secret } from '../../manifests.ts'
import { eventually, operatorUnderTest } from '../../operator_under_test.ts'
import type { Manifest, OperatorUnderTest } from '../../operator_under_test.ts'
import { encryptingRealm, grantRealmAdmin, keyringFile, licensing } from '../realm_under_test.ts'

const DAY = 86_400_000
const FIELDS = [{ name: 'dateOfBirth', tag: 'dob' }]

describe('the keyring of a realm', () => {
  let operator: OperatorUnderTest
  let now: Date
  let file: ReturnType<typeof keyringFile>
  let pokes = 0
  beforeEach(async () => {
    now = new Date()
    operator = await operatorUnderTest({ now: () => now })
    file = keyringFile(operator)
  })
  afterEach(() => operator.end())

  const condition = (type = 'KeysReady') => operator.condition('Realm', 'shop', type)
  const isBroken = (reason: string): Promise<void> =>
    eventually(() => expect([condition()?.status, condition()?.reason]).toEqual(['False', reason]))
  const isWhole = (): Promise<void> => eventually(() => expect(condition()?.status).toBe('True'))
  const states = async (kind: 'signing' | 'refresh' | 'encryption'): Promise<string[]> =>
    (await file.keyring())[kind].map(({ state }) => state)

  /** Makes the operator reconcile the Realm, as an edit or a requeue does. */
  async function poke(annotations: Record<string, string> = {}, make = encryptingRealm): Promise<void> {
    await operator.write('realm.yaml', make(FIELDS, { ...annotations, poke: String(pokes++) }))
  }

  async function startEncrypting(): Promise<void> {
    const { file: licenseKeys, license } = await licensing(operator)
    await operator.write('license.yaml', await license(new Date(now.getTime() + 3650 * DAY)))
    await operator.write('realm.yaml', encryptingRealm(FIELDS))
    await operator.start({}, { licenseKeys })
    await operator.untilReady('Realm', 'shop')
    await grantRealmAdmin(operator)
    await poke()
    await eventually(() => expect(condition('FieldEncryptionReady')?.status).toBe('True'))
  }

  /** A live server that holds these keys. */
  async function replicaHolds(names: string[]): Promise<void> {
    await beat(operator.database.pool, { id: 'server-1', fingerprints: { shop: names } }, 'server', now)
  }

  test('row 65: is never replaced when it is lost, rolled back, empty, truncated or has other bytes', async () => {
    await startEncrypting()
    const good = await file.text()
    const [key] = (await file.keyring()).encryption
    const otherBytes = randomBytes(32)

    const damages: [string, string, () => Promise<void>][] = [
      ['deleted', 'KeyringLost', () => rm(file.path)],
      ['emptied', 'KeyringLost', () => file.edit(() => '')],
      ['cut off', 'KeyringLost', () => file.edit((content) => content.slice(0, content.length / 2))],
      ['without its key', 'KeyringLost', () => file.editKeyring((keyring) => ({ ...keyring, encryption: [] }))],
      [
        'with other bytes',
        'KeyringRolledBack',
        () =>
          file.editKeyring((keyring) => ({
            ...keyring,
            encryption: keyring.encryption.map((each) => ({
              ...each,
              key: otherBytes.toString('base64url'),
              fingerprint: fingerprint(otherBytes),
            })),
          })),
      ],
      [
        'with two keys of one version',
        'KeyringLost',
        () =>
          file.editKeyring((keyring) => ({ ...keyring, encryption: [...keyring.encryption, ...keyring.encryption] })),
      ],
    ]
    for (const [what, reason, damage] of damages) {
      await damage()
      await isBroken(reason)
      const damaged = await readFile(file.path, 'utf8').catch(() => undefined)
      // Neither an edit nor a restart makes the operator write it; the rest of the realm is served.
      await operator.write('realm.yaml', {
        ...encryptingRealm(FIELDS),
        metadata: { name: 'shop', namespace: 'default', annotations: { what } },
      })
      await operator.stop()
      await operator.start({}, { licenseKeys: (await licensing(operator)).file })
      await isBroken(reason)
      expect(condition()?.message).toContain(key?.fingerprint)
      expect(await readFile(file.path, 'utf8').catch(() => undefined)).toBe(damaged)
      expect(await operator.rows(`select fields->0->>'name' as field from realms`)).toEqual([{ field: 'dateOfBirth' }])
      await file.replace(good)
      await isWhole()
    }
    const warnings = operator.events.filter(({ type, reason }) => type === 'Warning' && reason.startsWith('Keyring'))
    expect(warnings.length).toBeGreaterThanOrEqual(damages.length)
    expect((await file.keyring()).encryption).toEqual([key])
  })

  test('row 34: a missing signing key is generated once its loss is accepted, a damaged keyring stays', async () => {
    await operator.write('realm.yaml', realm())
    await operator.start()
    await operator.untilReady('Realm', 'shop')
    const [lost] = (await file.keyring()).signing
    await file.editKeyring((keyring) => ({ ...keyring, signing: [] }))
    await isBroken('KeyringRolledBack')
    expect(await states('signing')).toEqual([])
    await operator.write(
      'realm.yaml',
      realm('shop', {}, { annotations: { 'realmkeeper.io/accept-key-loss': lost?.kid } }),
    )
    await isWhole()
    expect(await states('signing')).toEqual(['active'])
    expect((await file.keyring()).signing[0]?.kid).not.toBe(lost?.kid)
    const good = await file.text()
    const damages: ((content: string) => string)[] = [
      (content) => content.replace(/"d": "[^"]{8}/, '"d": "AAAAAAAA'),
      (content) => content.replace(/"alg": "ES256"/, '"alg": "RS256"'),
      (content) => content.replace(/"kid": "/, '"kid": "x'),
      () => '{}',
    ]
    for (const damage of damages) {
      await file.edit(damage)
      const damaged = await file.text()
      await isBroken('KeyringLost')
      expect(operator.condition('Realm', 'shop')?.reason).toBe('KeyringLost')
      // The rest of the realm is reconciled.
      await operator.write(
        'realm.yaml',
        realm('shop', { displayName: damaged.slice(-40).replaceAll(/[^a-z0-9]/gi, '') }),
      )
      await eventually(() => expect(operator.condition('Realm', 'shop')?.message).toContain('There is no keyring'))
      expect(await file.text()).toBe(damaged)
      await file.replace(good)
      await isWhole()
    }
  })

  test('a loss that the owner accepts is recorded, and the next key has the next version', async () => {
    await startEncrypting()
    const {
      encryption: [key],
      signing,
      refresh,
    } = await file.keyring()
    await rm(file.path)
    await isBroken('KeyringLost')
    const kids = [...signing, ...refresh].map(({ kid }) => kid).join(',')
    await poke({ 'realmkeeper.io/accept-key-loss': kids })
    await eventually(async () =>
      expect(operator.find('Realm', 'shop')?.metadata.annotations?.poke).toBe(String(pokes - 1)),
    )
    await isBroken('KeyringLost')
    await poke({ 'realmkeeper.io/accept-key-loss': `ffff000011112222, ${key?.fingerprint},${kids}` })
    await isWhole()
    await eventually(async () =>
      expect((await file.keyring()).encryption).toMatchObject([{ version: 2, state: 'primary' }]),
    )
    const audit = await operator.rows<{ action: string }>('select action from audit order by seq')
    expect(audit.map(({ action }) => action)).toContain('key_loss_accepted')
    expect(operator.find('Realm', 'shop')?.status).toMatchObject({
      keys: {
        encryption: [
          { version: 1, fingerprint: key?.fingerprint },
          { version: 2, state: 'primary' },
        ],
      },
    })
  })

  test('a new database expects the versions that only status records', async () => {
    await startEncrypting()
    await operator.stop()
    for (const table of ['key_versions', 'recorded_keys', 'keyring_records'])
      await operator.rows(`delete from ${table}`)
    await rm(file.path)
    await operator.start({}, { licenseKeys: (await licensing(operator)).file })
    await isBroken('KeyringLost')
  })

  test('a destroyed key that a backup brings back is destroyed again', async () => {
    await startEncrypting()
    const [alive] = (await file.keyring()).encryption
    await file.editKeyring((keyring) => ({
      ...keyring,
      encryption: keyring.encryption.map(({ key: _key, ...rest }) => ({
        ...rest,
        state: 'destroyed' as const,
        destroyedAt: now.toISOString(),
      })),
    }))
    await eventually(async () => expect(await states('encryption')).toEqual(['destroyed', 'primary']))
    await file.editKeyring((keyring) => ({
      ...keyring,
      encryption: keyring.encryption.map((each) =>
        alive && each.version === 1 ? { ...alive, state: 'decrypt_only' } : each,
      ),
    }))
    await eventually(async () => expect(await states('encryption')).toEqual(['destroyed', 'primary']))
    expect(JSON.stringify((await file.keyring()).encryption[0])).not.toContain('"key"')
  })

  test('row 66: a new encryption key is used once every live replica holds it, and old keys still decrypt', async () => {
    await startEncrypting()
    await replicaHolds([])
    now = new Date(now.getTime() + 366 * DAY)
    await replicaHolds([])
    await poke()
    await eventually(async () => expect(await states('encryption')).toEqual(['primary', 'pending']))
    await eventually(async () =>
      expect(await operator.rows(`select state from key_versions where version = 2`)).toEqual([{ state: 'pending' }]),
    )
    const pending = (await file.keyring()).encryption[1]?.fingerprint ?? ''
    await replicaHolds([pending])
    await poke()
    await eventually(async () => expect(await states('encryption')).toEqual(['decrypt_only', 'primary']))
    await eventually(async () =>
      expect(await operator.rows('select state from key_versions order by version')).toEqual([
        { state: 'decrypt_only' },
        { state: 'primary' },
      ]),
    )
  })

  test('row 35: each new value of an annotation rotates once; a key signs once it is published and held', async () => {
    const signing = { 'realmkeeper.io/rotate-signing': '2030-01-01T00:00:00Z' }
    const plain = (_fields?: object[], annotations = {}): Manifest => realm('shop', {}, { annotations })
    await operator.write('realm.yaml', plain())
    await operator.start()
    await operator.untilReady('Realm', 'shop')
    await replicaHolds([])
    await poke(signing, plain)
    await eventually(async () => expect(await states('signing')).toEqual(['active', 'pending']))
    const [, fresh] = (await file.keyring()).signing
    await replicaHolds([fresh?.kid ?? ''])
    await poke(signing, plain)
    await eventually(async () => expect((await file.keyring()).signing[1]).toHaveProperty('publishedAt'))
    expect(await states('signing')).toEqual(['active', 'pending'])

    now = new Date(now.getTime() + 301_000)
    await replicaHolds([fresh?.kid ?? ''])
    await poke(signing, plain)
    await eventually(async () => expect(await states('signing')).toEqual(['passive', 'active']))
    // The last token that it signed has expired.
    now = new Date(now.getTime() + 400_000)
    await replicaHolds([fresh?.kid ?? ''])
    await poke(signing, plain)
    await eventually(async () => expect((await file.keyring()).signing.map(({ kid }) => kid)).toEqual([fresh?.kid]))
    expect(await states('refresh')).toEqual(['active'])

    await poke({ ...signing, 'realmkeeper.io/rotate-refresh': 'now' }, plain)
    await eventually(async () => expect(await states('refresh')).toEqual(['active', 'pending']))
    expect(await states('signing')).toEqual(['active'])
  })

  test('a keyring that is managed elsewhere is read and never written', async () => {
    await startEncrypting()
    const content = await file.keyring()
    const manifest = await file.read()
    await operator.write('keyring.yaml', {
      ...secret('realm-shop-keyring', {}, { namespace: 'realmkeeper', labels: { 'realmkeeper.io/keyring': 'true' } }),
      stringData: undefined,
      data: manifest.data,
    })
    await isBroken('KeyringUnconfirmed')
    const accepted = { 'realmkeeper.io/accept-keyring': keyringDigest(content) }
    await poke(accepted)
    await eventually(() => expect(condition()?.reason).toBe('ExternallyManaged'))
    expect(condition()?.status).toBe('True')
    await rm(file.path)
    now = new Date(now.getTime() + 400 * DAY)
    await operator.write(
      'realm.yaml',
      encryptingRealm([...FIELDS, { name: 'salary' }], { 'realmkeeper.io/rotate-signing': 'x' }),
    )
    await eventually(() => expect(condition('FieldEncryptionReady')?.reason).toBe('FieldNotInKeyring'))
    expect(condition()?.reason).toBe('ExternallyManaged')
    expect(content.signing).toHaveLength(1)
    await expect(readFile(file.path)).rejects.toThrow('ENOENT')
  })

  test('a Secret of its name without the label is not used as a keyring', async () => {
    await operator.write('realm.yaml', realm())
    await operator.write('secret.yaml', secret('realm-shop-keyring', { x: 'y' }, { namespace: 'realmkeeper' }))
    await operator.start()
    await operator.untilReady('Realm', 'shop', 'False', 'KeyringUnusable')
    await operator.remove('secret.yaml')
    await operator.untilReady('Realm', 'shop')
  })
})
