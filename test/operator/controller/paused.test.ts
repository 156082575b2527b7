import { afterEach, beforeEach, expect, test } from 'vitest'
import { client, namespace, password, realm, user } from '../manifests.ts'
import { eventually, operatorUnderTest } from '../operator_under_test.ts'
import type { OperatorUnderTest } from '../operator_under_test.ts'

const PAUSED = { annotations: { 'realmkeeper.io/paused': 'true' } }

let operator: OperatorUnderTest
beforeEach(async () => {
  operator = await operatorUnderTest()
  await operator.write('realm.yaml', realm('shop'))
})
afterEach(() => operator.end())

type Kind = 'Realm' | 'Client' | 'User'
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
