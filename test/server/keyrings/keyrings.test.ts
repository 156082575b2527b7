import { rm, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../../process/log.ts'
import type { KeyringReading } from '../../../server/keyrings/keyring_source.ts'
import { createKeyrings } from '../../../server/keyrings/keyrings.ts'
import { listKeyVersions } from '../../../store/key_versions.ts'
import { acceptKeyLoss } from '../../../store/keyring_records.ts'
import { generateEncryptionKey, generateSigningKey } from '../../../keyring/generate.ts'
import { serializeKeyring } from '../../../keyring/keyring.ts'
import type { Keyring } from '../../../keyring/keyring.ts'
import { listLiveReplicas } from '../../../store/replicas.ts'
import { eventually } from '../../support/eventually.ts'
import { testDatabase } from '../../support/postgres.ts'
import { realmKeyring } from '../../support/realm_keyring.ts'
import { ALICE, ALICE_PASSWORD, SHOP_SECRET, startServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'
import { realmRow } from '../../support/rows.ts'
import { headerOf, verifiesByJwks } from '../../support/tokens.ts'
import { keyringSecret } from '../../support/world.ts'

let server: TestServer
let good: Keyring
let foreign: Keyring
beforeAll(async () => {
  good = await realmKeyring({ versions: ['destroyed', 'decrypt_only', 'primary'] })
  foreign = await realmKeyring()
  server = await startServer({
    prepare: async (world) => {
      await world.addRealm({}, good)
      await world.addClient({}, SHOP_SECRET)
      await world.addUser({}, ALICE_PASSWORD)
      await world.addRealm({ realm: 'broken' }, null)
      await world.addClient({ realm: 'broken', clientId: 'app' })
      await writeFile(`${world.keyringDir}/realmkeeper/realm-broken-keyring.json`, '{"kind":')
      await world.addRealm({ realm: 'new' }, null)
    },
  })
})
afterAll(() => server.stop())

const acmeFile = (): string => `${server.keyringDir}/realmkeeper/realm-acme-keyring.json`
const metric = async (realm: string): Promise<boolean> =>
  (await (await fetch(`${server.healthUrl}/metrics`)).text()).includes(
    `realmkeeper_keyring_refused{realm="${realm}"} 1`,
  )
const alarms = (): string[] => server.log.filter((line) => line.includes('a keyring was refused'))
const kidNow = async (): Promise<unknown> => headerOf((await server.token(ALICE)).body.access_token).kid

describe('row 34: at start', () => {
  const unavailable = { status: 503, body: { error: 'keyring_unavailable' } }

  test('a realm whose keyring cannot be read issues nothing, the log gives the reason, and other realms are served', async () => {
    const answer = await server.request('/auth/realms/broken/protocol/openid-connect/token', {
      form: { ...ALICE, client_id: 'app', grant_type: 'refresh_token', refresh_token: 'x' },
    })
    expect(answer).toMatchObject(unavailable)
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await server.request('/auth/realms/broken/protocol/openid-connect/certs')).toMatchObject(unavailable)
    expect(server.log.join('')).toContain('the Secret is not valid JSON')
    expect(await metric('broken')).toBe(true)
    expect(await server.token(ALICE)).toMatchObject({ status: 200 })
    expect((await fetch(`${server.healthUrl}/readyz`)).status).toBe(200)
  })

  test('a realm without a keyring is served as soon as it has one', async () => {
    expect(await server.request('/auth/realms/new/protocol/openid-connect/certs')).toMatchObject(unavailable)
    await server.writeKeyring(await realmKeyring({ realm: 'new' }))
    await eventually(async () =>
      expect(await server.request('/auth/realms/new/protocol/openid-connect/certs')).toMatchObject({ status: 200 }),
    )
  })
})

describe('row 34, 65: a keyring that must not replace the good one', () => {
  const without = (version: number): Keyring['encryption'] => good.encryption.filter((key) => key.version !== version)
  const otherBytes = (version: number): Keyring['encryption'] => [
    ...without(version),
    { ...generateEncryptionKey(version, new Date()), state: 'primary' },
  ]
  const passive = <Key extends object>(keys: Key[]) => keys.map((key) => ({ ...key, state: 'passive' as const }))
  const ring = (change: Partial<Keyring>): string => secret(serializeKeyring({ ...good, ...change }))
  const secret = (bytes: Buffer): string => keyringSecret('realm-acme-keyring', 'realmkeeper', bytes)

  test.for<[string, () => string | undefined | Promise<string>, string]>([
    ['deleted', () => undefined, 'the Secret does not exist'],
    ['an empty file', () => '', 'the Secret is not valid JSON'],
    ['a Secret without the entry', () => '{"kind":"Secret","data":{}}', 'the Secret has no entry keyring.json'],
    ['an entry that is no base64', () => '{"kind":"Secret","data":{"keyring.json":"*"}}', 'is not base64'],
    ['another kind of resource', () => '{"kind":"ConfigMap","data":{}}', 'it is not a Secret'],
    ['an entry of nothing', () => secret(Buffer.from('{}')), 'keyring.json has no member'],
    ['cut short', () => secret(serializeKeyring(good).subarray(0, 500)), 'not valid JSON'],
    [
      'another realm’s',
      async () => secret(serializeKeyring(await realmKeyring({ realm: 'new' }))),
      'is not of the realm',
    ],
    ['rolled back: the newest version is missing', () => ring({ encryption: without(3) }), 'KeyringRolledBack'],
    ['other bytes under a known version', () => ring({ encryption: otherBytes(3) }), 'KeyringRolledBack'],
    ['lost: no known version is left', () => ring({ encryption: [] }), 'KeyringLost'],
    ['no signing key', () => ring({ signing: [] }), 'KeyringRolledBack'],
    ['no active signing key', () => ring({ signing: passive(good.signing) }), 'no active signing key any more'],
    ['no active refresh key', () => ring({ refresh: passive(good.refresh) }), 'no active refresh key any more'],
    ['row 140: another signing key', () => ring({ signing: foreign.signing }), 'KeyringRolledBack'],
    ['row 140: another refresh key', () => ring({ refresh: foreign.refresh }), 'KeyringRolledBack'],
    [
      'row 140: other bytes under the kid of the refresh key',
      () =>
        ring({
          refresh: good.refresh.map(({ key: _key, ...rest }) => ({ ...rest, key: foreign.refresh[0]?.key ?? '' })),
        }),
      'refresh[0].kid is not the fingerprint',
    ],
    [
      'row 140: an added signing key that is active',
      () => ring({ signing: [...passive(good.signing), ...foreign.signing] }),
      'KeyringUnconfirmed',
    ],
    [
      'row 140: an added encryption key that is primary',
      () =>
        ring({
          encryption: [
            ...good.encryption.filter(({ version }) => version < 3),
            { ...good.encryption[2]!, state: 'decrypt_only' },
            { ...foreign.encryption[0]!, version: 4 },
          ],
        }),
      'KeyringUnconfirmed',
    ],
    [
      'a damaged signing key',
      () => ring({ signing: good.signing.map((key) => ({ ...key, jwk: { ...key.jwk, d: 'A'.repeat(43) } })) }),
      'signing[0]',
    ],
  ])('%s', async ([, content, reason]) => {
    const kid = await kidNow()
    const before = alarms().length
    const text = await content()
    if (text === undefined) await rm(acmeFile())
    else await writeFile(acmeFile(), text)
    await eventually(async () => expect(alarms().slice(before).join('')).toContain(reason))
    expect(alarms().at(-1)).toContain('the last good one stays in service')
    expect(await metric('acme')).toBe(true)
    expect(await kidNow()).toBe(kid)

    await server.writeKeyring(good)
    await eventually(async () => expect(await metric('acme')).toBe(false))
    const kept = [
      ...good.signing.map(({ jwk }) => jwk.d),
      ...good.refresh.map(({ key }) => key),
      ...good.encryption.map(({ key }) => key),
    ]
    for (const material of kept) if (material !== undefined) expect(server.log.join('')).not.toContain(material)
  })

  test('a destroyed version stays destroyed in a restored backup', async () => {
    const revived = { ...generateEncryptionKey(1, new Date()), state: 'decrypt_only' as const }
    await server.database.pool.query('update key_versions set fingerprint = $1 where version = 1', [
      revived.fingerprint,
    ])
    const before = alarms().length
    await server.writeKeyring({ ...good, encryption: [revived, ...without(1)] })
    const held = async () => (await listLiveReplicas(server.database.pool, new Date()))[0]?.fingerprints.acme ?? []
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    expect(alarms().slice(before)).toEqual([])
    expect(await held()).not.toContain(revived.fingerprint)
    await server.database.pool.query('update key_versions set fingerprint = $1 where version = 1', [
      good.encryption[0]?.fingerprint,
    ])
    await server.writeKeyring(good)
  })
})

test('row 35: during a rotation under load every token verifies by the JWKS of that moment, and old tokens stay valid', async () => {
  const { body: old } = await server.token(ALICE)
  const next = await generateSigningKey('ES256', new Date())
  const pending: Keyring = { ...good, signing: [...good.signing, next] }
  const active: Keyring = {
    ...good,
    signing: [...good.signing.map((key) => ({ ...key, state: 'passive' as const })), { ...next, state: 'active' }],
  }
  const kids = new Set<unknown>()
  for (const keyring of [pending, active]) {
    await server.writeKeyring(keyring)
    const rotated = keyring === active ? next.kid : undefined
    await eventually(async () => {
      const { body } = await server.token(ALICE)
      kids.add(headerOf(body.access_token).kid)
      expect(await verifiesByJwks(server, body.access_token)).toBe(true)
      if (rotated !== undefined) expect(headerOf(body.access_token).kid).toBe(rotated)
      else expect((await server.request('certs')).body.keys).toHaveLength(2)
    })
  }
  expect(kids).toEqual(new Set([good.signing[0]?.kid, next.kid]))
  expect(await verifiesByJwks(server, old.access_token)).toBe(true)
  const introspected = await server.request('token/introspect', {
    form: { client_id: 'shop', client_secret: SHOP_SECRET, token: old.access_token },
  })
  expect(introspected.body.active).toBe(true)
  await server.writeKeyring(good)
})

test('the server accepts a loss of keys that the owner accepted', async () => {
  const fresh = await realmKeyring({ versions: ['primary'] })
  const renumbered = fresh.encryption.map((key) => ({ ...key, version: 4 }))
  await server.writeKeyring({ ...fresh, encryption: renumbered })
  await eventually(async () => expect(await metric('acme')).toBe(true))
  const { pool } = server.database
  const lost = (await listKeyVersions(pool, 'acme')).map(({ fingerprint }) => fingerprint)
  await acceptKeyLoss(pool, 'acme', lost, new Date())
  await eventually(async () => expect(await kidNow()).toBe(fresh.signing[0]?.kid))
  expect(await metric('acme')).toBe(false)
})

test('a replica records the keys that it holds, and removes its record when it stops', async () => {
  const database = await testDatabase()
  const other = await startServer({ database })
  await eventually(async () => {
    const replicas = await listLiveReplicas(database.pool, new Date())
    expect(replicas.map(({ fingerprints }) => fingerprints.acme?.length)).toEqual([3])
  })
  await other.stop()
  expect(await listLiveReplicas(database.pool, new Date())).toEqual([])
  await database.drop()
})

test('a server waits for the keyrings of its first realms, and not for those of realms that are added later', async () => {
  const database = await testDatabase()
  const readings = new Map<string, (reading: KeyringReading) => void>()
  const keyrings = createKeyrings({
    source: {
      watch({ name }, onReading) {
        readings.set(name, onReading)
        return () => {}
      },
      close: () => {},
    },
    pool: database.pool,
    now: () => new Date(),
    log: createLog({ name: 'server', level: 'error' }),
    onLoaded: () => {},
  })
  onTestFinished(async () => {
    keyrings.close()
    await database.drop()
  })
  const first = realmRow({ realm: 'first', keyringName: 'first' })
  const added = realmRow({ realm: 'added', keyringName: 'added' })
  keyrings.follow([first])
  expect(keyrings.isSettled()).toBe(false)
  readings.get('first')!({ outcome: 'absent' })
  await eventually(async () => expect(keyrings.isSettled()).toBe(true))
  // The API server has not answered yet.
  keyrings.follow([first, added])
  expect(keyrings.isSettled()).toBe(true)
  expect(() => keyrings.get('added')).toThrow('not loaded')
})
