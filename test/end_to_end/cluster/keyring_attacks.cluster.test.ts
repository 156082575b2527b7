import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { serializeKeyring } from '../../../keyring/keyring.ts'
import type { Keyring } from '../../../keyring/keyring.ts'
import { parseKeyring } from '../../../keyring/parse_keyring.ts'
import { APPLY_PATCH, JSON_PATCH, MERGE_PATCH } from '../../support/control_plane/account.ts'
import type { Account } from '../../support/control_plane/account.ts'
import { untilRightsAct } from '../../support/control_plane/rights.ts'
import { realmKeyring } from '../../support/realm_keyring.ts'
import { ROOT } from '../../support/source_files.ts'
import { headerOf } from '../../support/tokens.ts'
import { clusterWorld, until } from './cluster_world.ts'
import type { ClusterWorld } from './cluster_world.ts'
import { KEYRING_NAMESPACE } from './rights.ts'

const SECRETS = `/api/v1/namespaces/${KEYRING_NAMESPACE}/secrets`
const SECRET = `${SECRETS}/realm-quickstart-keyring`
const RBAC = `/apis/rbac.authorization.k8s.io/v1/namespaces/${KEYRING_NAMESPACE}`
const STRATEGIC = 'application/strategic-merge-patch+json'

// The realm has no encryption key. Mallory may patch Secrets of the keyring namespace, Trent may create and delete them.
describe('row 140: writers of Secrets in the keyring namespace, with real rights', () => {
  let world: ClusterWorld
  let admin: Account
  let mallory: Account
  let trent: Account
  let good: Keyring
  let secret: { metadata: object; data: Record<string, string> }
  beforeAll(async () => {
    world = await clusterWorld()
    ;({ admin } = world.plane)
    mallory = await account('mallory', ['patch'])
    trent = await account('trent', ['create', 'delete'])
    await untilRightsAct(admin, KEYRING_NAMESPACE)
    await world.applyQuickstart()
    for (const name of ['alice', 'bob']) await world.untilReady('users', name)
    await world.untilReady('clients', 'shop')
    await until(async () => expect((await world.login('alice')).status).toBe(200))
    secret = (await admin.call('GET', SECRET)).body
    good = await keyringNow()
    expect(good.encryption).toEqual([])
  })
  afterEach(async () => {
    // The keys in use stay in use.
    expect(await servedKids()).toEqual(good.signing.map(({ kid }) => kid))
    const { body } = await world.login('alice')
    expect(headerOf(body.access_token ?? '').kid).toBe(good.signing[0]?.kid)
    await restore()
    await until(async () => expect((await keysReady())?.reason).toBe('KeysAvailable'))
  })
  afterAll(() => world?.end())

  async function account(name: string, verbs: string[]): Promise<Account> {
    await admin.do('POST', `${RBAC}/roles`, {
      metadata: { name },
      rules: [{ apiGroups: [''], resources: ['secrets'], verbs }],
    })
    await admin.do('POST', `${RBAC}/rolebindings`, {
      metadata: { name },
      subjects: [{ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' }],
      roleRef: { kind: 'Role', name, apiGroup: 'rbac.authorization.k8s.io' },
    })
    return world.plane.user(name)
  }

  const keyringNow = async (): Promise<Keyring> => {
    const { body } = await admin.call('GET', SECRET)
    return parseKeyring(Buffer.from(body.data['keyring.json'], 'base64'), 'quickstart')
  }
  const keysReady = async () =>
    (await world.find('realms', 'quickstart'))?.status?.conditions?.find(({ type }) => type === 'KeysReady')
  const isRefused = (reason: string): Promise<void> =>
    until(async () => {
      const { status, reason: present } = (await keysReady()) ?? {}
      expect([status, present]).toEqual(['False', reason])
    })
  async function servedKids(): Promise<string[]> {
    const answer = await fetch(`${world.url}/auth/realms/quickstart/protocol/openid-connect/certs`)
    const { keys } = (await answer.json()) as { keys: { kid: string }[] }
    return keys.map(({ kid }) => kid)
  }
  async function foreign(): Promise<Keyring> {
    const keyring = await realmKeyring({ realm: 'quickstart', algorithms: ['ES256'], versions: [] })
    return { ...keyring, owner: { namespace: 'quickstart', name: 'quickstart' } }
  }
  const dataOf = (keyring: Keyring) => ({ 'keyring.json': serializeKeyring(keyring).toString('base64') })

  /** As a backup does: another client writes the content. The administrator gives the Secret back to the operator. */
  async function restore(): Promise<void> {
    const { metadata, data } = secret
    const { labels } = metadata as { labels: object }
    const body = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'realm-quickstart-keyring', labels }, data }
    if ((await admin.call('GET', SECRET)).status === 404) await admin.do('POST', SECRETS, body)
    else await admin.do('PUT', SECRET, body)
    const patch = /'(\[.*managedFields.*\])'/.exec(readFileSync(join(ROOT, 'docs/install.md'), 'utf8'))?.[1] ?? ''
    await admin.do('PATCH', SECRET, JSON.parse(patch), { contentType: JSON_PATCH })
  }

  const object = (data: object) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'realm-quickstart-keyring' },
    data,
  })
  const forms: [string, string, (data: object) => unknown, string][] = [
    ['a merge patch', MERGE_PATCH, (data) => ({ data }), ''],
    ['a strategic merge patch', STRATEGIC, (data) => ({ data }), ''],
    ['a JSON patch', JSON_PATCH, (data) => [{ op: 'replace', path: '/data', value: data }], ''],
    ['a forced apply', APPLY_PATCH, object, '?fieldManager=mallory&force=true'],
    ['a patch in the name of the operator', MERGE_PATCH, (data) => ({ data }), '?fieldManager=realmkeeper-operator'],
  ]
  test.each(forms)('attack: %s replaces the keyring', async (_, contentType, bodyOf, query) => {
    expect((await mallory.call('GET', SECRET)).status).toBe(403)
    const keyring = await foreign()
    const { status } = await mallory.call('PATCH', `${SECRET}${query}`, bodyOf(dataOf(keyring)), { contentType })
    expect(status).toBe(200)
    await isRefused('KeyringRolledBack')
    expect((await keyringNow()).signing[0]?.kid).toBe(keyring.signing[0]?.kid)
    expect(JSON.stringify((await world.find('realms', 'quickstart'))?.status)).not.toContain(keyring.signing[0]?.kid)
  })

  test('attack: the Secret is deleted, and created with other keys', async () => {
    await trent.do('DELETE', SECRET)
    await isRefused('KeyringLost')
    const { labels } = secret.metadata as { labels: object }
    const body = { ...object(dataOf(await foreign())), metadata: { name: 'realm-quickstart-keyring', labels } }
    await trent.do('POST', `${SECRETS}?fieldManager=realmkeeper-operator`, body)
    await isRefused('KeyringRolledBack')
  })

  test('attack: a patch reads the content, and adds a key beside the others', async () => {
    // Kubernetes answers a patch with the object. The threat model names this right for a right to read.
    const { body } = await mallory.call('PATCH', SECRET, {}, { contentType: MERGE_PATCH })
    const stolen = await parseKeyring(Buffer.from(body.data['keyring.json'], 'base64'), 'quickstart')
    const { signing } = await foreign()
    const passive = stolen.signing.map((key) => ({ ...key, state: 'passive' as const }))
    const data = dataOf({ ...stolen, signing: [...passive, ...signing] })
    await mallory.do('PATCH', `${SECRET}?fieldManager=realmkeeper-operator`, { data }, { contentType: MERGE_PATCH })
    await isRefused('KeyringUnconfirmed')
    expect((await keysReady())?.message).toContain(signing[0]?.kid)
  })

  test('attack: an annotation and another owner in the keyring do not move the realm', async () => {
    await admin.do('POST', '/api/v1/namespaces', { metadata: { name: 'hers' } })
    const hers = '/apis/realmkeeper.io/v1alpha1/namespaces/hers/realms'
    await admin.do('POST', hers, {
      apiVersion: 'realmkeeper.io/v1alpha1',
      kind: 'Realm',
      metadata: { name: 'hers', annotations: { 'realmkeeper.io/transfer-realm-to': 'hers/hers' } },
      spec: { realm: 'quickstart' },
    })
    await world.untilReady('realms', 'hers', 'False', 'RealmNameTaken', 'hers')
    const annotations = { 'realmkeeper.io/keyring-owner': 'hers/hers' }
    const data = dataOf({ ...good, owner: { namespace: 'hers', name: 'hers' } })
    const query = '?fieldManager=realmkeeper-operator'
    await mallory.do('PATCH', `${SECRET}${query}`, { metadata: { annotations }, data }, { contentType: MERGE_PATCH })
    // The operator writes the owner again.
    await until(async () => expect((await keyringNow()).owner).toEqual({ namespace: 'quickstart', name: 'quickstart' }))
    await admin.do('PATCH', `${hers}/hers`, { spec: { displayName: 'again' } }, { contentType: MERGE_PATCH })
    await world.untilReady('realms', 'hers', 'False', 'RealmNameTaken', 'hers')
    await world.untilReady('realms', 'quickstart')
    await admin.do('DELETE', `${hers}/hers`)
  })

  test('a keyring that becomes external raises an Event and waits for the Realm to confirm it', async () => {
    await mallory.do('PATCH', SECRET, { data: { other: 'AAAA' } }, { contentType: MERGE_PATCH })
    await isRefused('KeyringUnconfirmed')
    const [, digest] =
      / realmkeeper\.io\/accept-keyring: ([0-9a-f]{32}) /.exec((await keysReady())?.message ?? '') ?? []
    await until(async () => {
      const { body } = await admin.call('GET', '/api/v1/namespaces/quickstart/events')
      expect(body.items.map(({ reason }: { reason: string }) => reason)).toContain('KeyringUnconfirmed')
    })
    const annotate = (value: string | null | undefined): Promise<void> =>
      world.patch('realms', 'quickstart', { metadata: { annotations: { 'realmkeeper.io/accept-keyring': value } } })
    await annotate('0'.repeat(32))
    await isRefused('KeyringUnconfirmed')
    await annotate(digest)
    await until(async () => expect((await keysReady())?.reason).toBe('ExternallyManaged'))
    await annotate(null)
    await world.untilReady('realms', 'quickstart')
  })

  test('a keyring that a backup restored is used by servers at once, and by the operator once it is given back', async () => {
    await admin.do('DELETE', SECRET)
    await isRefused('KeyringLost')
    const { labels } = secret.metadata as { labels: object }
    const body = { ...object(secret.data), metadata: { name: 'realm-quickstart-keyring', labels } }
    await admin.do('POST', `${SECRETS}?fieldManager=velero`, body)
    await isRefused('KeyringUnconfirmed')
    // A server that starts now loads it, because all of its keys are recorded.
    await world.server.stop()
    world.server = await world.startServer()
    await until(async () => expect((await world.login('alice')).status).toBe(200))
  })
})
