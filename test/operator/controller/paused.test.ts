import { mkdir, rm } from 'node:fs/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { assignment, client, namespace, password, realm, user } from '../manifests.ts'
import { eventually, operatorUnderTest } from '../operator_under_test.ts'
import type { Manifest, OperatorUnderTest } from '../operator_under_test.ts'
import { encryptingRealm, grantRealmAdmin, licensing } from '../realm/realm_under_test.ts'

const PAUSED = { annotations: { 'realmkeeper.io/paused': 'true' } }

let operator: OperatorUnderTest
beforeEach(async () => {
  operator = await operatorUnderTest()
  await operator.write('realm.yaml', realm('shop'))
})
afterEach(() => operator.end())

type Kind = 'Realm' | 'Client' | 'User' | 'RoleAssignment'
const untilPaused = (kind: Kind, name: string, status = 'True', inNamespace = 'default') =>
  eventually(() => expect(operator.condition(kind, name, 'Paused', inNamespace)?.status).toBe(status))

test('a paused User keeps its row through an edit and a deletion, and is reconciled when the pause ends', async () => {
  const rows = () => operator.rows<{ last_name: string }>('select last_name from users')
  await operator.write('alice.yaml', user('alice', { lastName: 'Ames' }), password('alice'))
  await operator.start()
  await operator.untilReady('User', 'alice')

  await operator.write('alice.yaml', user('alice', { lastName: 'Bell', enabled: false }, PAUSED), password('alice'))
  await untilPaused('User', 'alice')
  expect(await rows()).toEqual([{ last_name: 'Ames' }])
  // kstatus: the new generation is in progress.
  const { metadata, status } = operator.find('User', 'alice') ?? {}
  expect(status?.observedGeneration).toBe((metadata?.generation ?? 0) - 1)
  expect(operator.condition('User', 'alice')).toMatchObject({ status: 'True', reason: 'Registered' })

  await operator.write('alice.yaml', user('alice', { lastName: 'Bell' }), password('alice'))
  await operator.untilReady('User', 'alice')
  await untilPaused('User', 'alice', 'False')
  expect(await rows()).toEqual([{ last_name: 'Bell' }])

  await operator.write('alice.yaml', user('alice', { lastName: 'Bell' }, PAUSED), password('alice'))
  await untilPaused('User', 'alice')
  await operator.remove('alice.yaml')
  await eventually(() => expect(operator.condition('User', 'alice', 'Paused')?.message).toContain('the deletion waits'))
  expect(operator.events).toContainEqual(expect.objectContaining({ name: 'User/alice', reason: 'CleanupPending' }))
  expect(await rows()).toEqual([{ last_name: 'Bell' }])
})

test('a resource that is paused from its beginning is not ready and has no row', async () => {
  await operator.write('web.yaml', client('web', { type: 'Public' }, PAUSED))
  await operator.start()
  await operator.untilReady('Client', 'web', 'False', 'Paused')
  await untilPaused('Client', 'web')
  expect(await operator.rows('select client_id from clients')).toEqual([])
  await operator.write('web.yaml', client('web', { type: 'Public' }))
  await operator.untilReady('Client', 'web')
})

test.each<[Kind, (metadata?: object) => Manifest, string]>([
  ['User', (metadata) => user('eve', { passwordSecretRef: undefined }, metadata), 'users'],
  ['Client', (metadata) => client('eve', { type: 'Public' }, metadata), 'clients'],
])('attack: a deleted %s is created again with a pause: nothing of the former one stays', async (kind, eve, table) => {
  await operator.write('eve.yaml', eve())
  await operator.start()
  await operator.untilReady(kind, 'eve')
  await operator.stop()
  // As after the deletion of its CustomResourceDefinition: no sweep removes the row.
  await rm(operator.stateDir, { recursive: true })
  await mkdir(operator.stateDir)
  await operator.write('eve.yaml', eve(PAUSED))
  await operator.start()
  await operator.untilReady(kind, 'eve', 'False', 'Paused')
  expect(await operator.rows(`select name from ${table}`)).toEqual([])
})

test('a pause does not keep a User in a Realm that expels its namespace', async () => {
  const realmRef = { name: 'shop', namespace: 'default' }
  await operator.write('realm.yaml', realm('shop', { allowedNamespaces: { from: 'All' } }), namespace('team'))
  await operator.write('eve.yaml', user('eve', { realmRef, passwordSecretRef: undefined }, { namespace: 'team' }))
  await operator.start()
  await operator.untilReady('User', 'eve', 'True', undefined, 'team')
  const paused = { namespace: 'team', ...PAUSED }
  await operator.write('eve.yaml', user('eve', { realmRef, passwordSecretRef: undefined }, paused))
  await untilPaused('User', 'eve', 'True', 'team')

  await operator.write('realm.yaml', realm('shop'), namespace('team'))
  await operator.untilReady('User', 'eve', 'False', 'NamespaceNotAllowed', 'team')
  expect(await operator.rows('select username from users')).toEqual([])
})

test('a pause does not keep a Client in a Realm that expels its namespace', async () => {
  const realmRef = { name: 'shop', namespace: 'default' }
  const web = (metadata: object) => client('web', { type: 'Public', realmRef }, { namespace: 'team', ...metadata })
  await operator.write('realm.yaml', realm('shop', { allowedNamespaces: { from: 'All' } }), namespace('team'))
  await operator.write('web.yaml', web({}))
  await operator.start()
  await operator.untilReady('Client', 'web', 'True', undefined, 'team')
  await operator.write('web.yaml', web(PAUSED))
  await untilPaused('Client', 'web', 'True', 'team')

  await operator.write('realm.yaml', realm('shop'), namespace('team'))
  await operator.untilReady('Client', 'web', 'False', 'NamespaceNotAllowed', 'team')
  expect(await operator.rows('select client_id from clients')).toEqual([])
})

test('attack: the requester pauses a RoleAssignment to keep its role: a deletion ends it, and nothing new is granted', async () => {
  const granted = () => operator.rows('select role from granted_roles')
  const reader = (metadata: object = {}) => {
    const manifest = assignment('alice-reader', 'alice', ['reader'])
    return { ...manifest, metadata: { ...manifest.metadata, ...metadata } }
  }
  await operator.write('realm.yaml', realm('shop', { roles: [{ name: 'reader' }] }))
  await operator.write('alice.yaml', user('alice', { passwordSecretRef: undefined }))
  await operator.write('reader.yaml', reader(PAUSED))
  await operator.start()
  await operator.untilReady('RoleAssignment', 'alice-reader', 'False', 'Paused')
  expect(await granted()).toEqual([])

  await operator.write('reader.yaml', reader())
  await operator.untilReady('RoleAssignment', 'alice-reader')
  expect(await granted()).toEqual([{ role: 'reader' }])
  await operator.write('reader.yaml', reader(PAUSED))
  await untilPaused('RoleAssignment', 'alice-reader')
  await operator.remove('reader.yaml')
  await eventually(() => expect(operator.find('RoleAssignment', 'alice-reader')).toBeUndefined())
  expect(await granted()).toEqual([])
})

test('a pause does not keep an audience that another Client withdraws', async () => {
  const realmRef = { name: 'shop', namespace: 'default' }
  const shop = realm('shop', { allowedNamespaces: { from: 'All' } })
  const api = (acceptsTokensFrom: string[]) => client('api', { type: 'Public', acceptsTokensFrom })
  const web = (metadata: object) =>
    client('web', { type: 'Public', realmRef, audiences: ['api'] }, { namespace: 'team', ...metadata })
  const audiences = async () =>
    (
      await operator.rows<{ settings: { audiences: string[] } }>(`select settings from clients where client_id = 'web'`)
    )[0]?.settings.audiences
  await operator.write('realm.yaml', shop, namespace('team'))
  await operator.write('api.yaml', api(['web']))
  await operator.write('web.yaml', web({}))
  await operator.start()
  await eventually(async () => expect(await audiences()).toEqual(['api']))
  await operator.write('web.yaml', web(PAUSED))
  await untilPaused('Client', 'web', 'True', 'team')
  expect(await audiences()).toEqual(['api'])

  await operator.write('api.yaml', api([]))
  await eventually(async () => expect(await audiences()).toEqual([]))
})

test('a paused Realm keeps its row, and its Users are reconciled', async () => {
  const displayName = async () =>
    (await operator.rows<{ display_name: string }>('select display_name from realms'))[0]?.display_name
  await operator.write('realm.yaml', realm('shop', { displayName: 'One' }))
  await operator.start()
  await operator.untilReady('Realm', 'shop')
  await operator.write('realm.yaml', realm('shop', { displayName: 'Two' }, PAUSED))
  await untilPaused('Realm', 'shop')
  await operator.write('alice.yaml', user('alice'), password('alice'))
  await operator.untilReady('User', 'alice')
  expect(await displayName()).toBe('One')
  await operator.write('realm.yaml', realm('shop', { displayName: 'Two' }))
  await eventually(async () => expect(await displayName()).toBe('Two'))
})

test.each<[string, () => Promise<unknown>, string]>([
  ['license', () => operator.remove('license.yaml'), 'SecretNotFound'],
  ['administrator', () => operator.rows('delete from granted_roles'), 'RealmAdminNotAssigned'],
])('a paused Realm stops encrypting when its %s is gone', async (_, remove, missing) => {
  const encryption = async () =>
    (await operator.rows<{ encryption: { missing: string[] } }>('select encryption from realms'))[0]?.encryption.missing
  const { file, license } = await licensing(operator)
  await operator.write('license.yaml', await license(new Date(Date.now() + 60 * 86_400_000)))
  await operator.write('realm.yaml', encryptingRealm())
  await operator.start({}, { licenseKeys: file })
  await operator.untilReady('Realm', 'shop')
  await grantRealmAdmin(operator)
  await operator.write('realm.yaml', encryptingRealm(undefined, { poke: '1' }))
  await eventually(async () => expect(await encryption()).toEqual([]))
  await operator.write('realm.yaml', encryptingRealm(undefined, PAUSED.annotations))
  await untilPaused('Realm', 'shop')

  await remove()
  await operator.write('realm.yaml', encryptingRealm(undefined, { ...PAUSED.annotations, poke: '2' }))
  await eventually(async () => expect(await encryption()).toContain(missing))
})

test('attack: a Realm is paused before its governance is raised, so that the name does not remember it', async () => {
  await operator.start()
  await operator.untilReady('Realm', 'shop')
  await operator.write('realm.yaml', realm('shop', { identityGovernance: { enabled: true } }, PAUSED))
  await untilPaused('Realm', 'shop')
  const remembered = () =>
    operator.rows(`select (governance ->> 'enabled')::boolean as enabled from realm_governance where realm = 'shop'`)
  await eventually(async () => expect(await remembered()).toEqual([{ enabled: true }]))
})
