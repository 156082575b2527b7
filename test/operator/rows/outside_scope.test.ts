import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { client, namespace, realm, user } from '../manifests.ts'
import { eventually, operatorUnderTest } from '../operator_under_test.ts'
import type { Manifest, OperatorUnderTest } from '../operator_under_test.ts'

// The Realm and the Client `web` are in the namespace `default`; the User `tina` and the Client `billing` in `team`.

const TEAM = { namespace: 'team' }
const OTHER = { namespace: 'other' }
const realmRef = { name: 'shop', namespace: 'default' }
const passwordless = (name: string, spec: object = {}, metadata: object = {}): Manifest =>
  user(name, { realmRef, passwordSecretRef: undefined, ...spec }, metadata)
const publicClient = (name: string, spec: object = {}, metadata: object = {}): Manifest =>
  client(name, { realmRef, type: 'Public', ...spec }, metadata)

let operator: OperatorUnderTest
beforeEach(async () => {
  operator = await operatorUnderTest()
  await operator.write('realm.yaml', realm('shop', { allowedNamespaces: { from: 'All' } }))
  await operator.write('web.yaml', publicClient('web', { audiences: ['billing'] }))
  await operator.write('team.yaml', namespace('team'), passwordless('tina', {}, TEAM))
  await operator.write('billing.yaml', publicClient('billing', { acceptsTokensFrom: ['web'] }, TEAM))
  await operator.start()
  await operator.untilReady('User', 'tina', 'True', undefined, 'team')
  await operator.untilReady('Client', 'billing', 'True', undefined, 'team')
  await eventually(async () => expect(await audiencesOf('web')).toEqual(['billing']))
  await operator.stop()
})
afterEach(() => operator.end())

/** The owner of each name. */
const owners = () =>
  operator.rows(
    `select 'realm ' || realm as name, resource_uid from realms
     union all select 'user ' || username || ' ' || subject, resource_uid from users
     union all select 'client ' || client_id, resource_uid from clients order by name`,
  )

async function audiencesOf(clientId: string): Promise<unknown> {
  const statement = 'select settings from clients where client_id = $1'
  const [row] = await operator.rows<{ settings: { audiences: string[] } }>(statement, clientId)
  return row?.settings.audiences
}

describe('row 142: attack: a watched namespace takes from one that is not watched', () => {
  const tinasSubject = () => operator.find('User', 'tina', 'team')?.metadata.uid

  test.each<[string, () => Manifest, string]>([
    ['a username', () => passwordless('thief', { username: 'Tina' }), 'UsernameTaken'],
    ['a sub', () => passwordless('thief', { subject: tinasSubject() }), 'SubjectTaken'],
    ['a client id', () => publicClient('thief', { clientId: 'billing' }), 'ClientIdTaken'],
  ])('%s', async (_, thief, reason) => {
    const before = await owners()
    await operator.start({}, { watchNamespaces: ['default'] })
    const manifest = thief()
    await operator.write('thief.yaml', manifest)
    await operator.untilReady(manifest.kind === 'User' ? 'User' : 'Client', 'thief', 'False', reason)
    await operator.remove('thief.yaml')
    await eventually(() => expect(operator.find('User', 'thief') ?? operator.find('Client', 'thief')).toBeUndefined())
    expect(await owners()).toEqual(before)
  })

  test('the name of a Realm, and then deletes its own Realm', async () => {
    const before = await owners()
    await operator.start({}, { watchNamespaces: ['other'] })
    await operator.write('thief.yaml', namespace('other'), realm('thief', { realm: 'shop' }, OTHER))
    await operator.untilReady('Realm', 'thief', 'False', 'RealmNameTaken', 'other')
    expect(await owners()).toEqual(before)
    await operator.remove('thief.yaml')
    await eventually(() => expect(operator.find('Realm', 'thief', 'other')).toBeUndefined())
    expect(await owners()).toEqual(before)
  })

  test('an audience', async () => {
    await operator.start({}, { watchNamespaces: ['default'] })
    await operator.write('thief.yaml', publicClient('thief', { audiences: ['billing'] }))
    await operator.untilReady('Client', 'thief', 'False', 'AudienceNotAllowed')
    expect(await audiencesOf('thief')).toEqual([])
  })
})

test('row 142: a Client keeps its audience in a namespace that is not watched', async () => {
  await operator.start({}, { watchNamespaces: ['default'] })
  await operator.write('web.yaml', publicClient('web', { audiences: ['billing'], accessTokenLifetimeSeconds: 60 }))
  const generation = () => operator.rows(`select generation::int from clients where client_id = 'web'`)
  await eventually(async () => expect(await generation()).toEqual([{ generation: 2 }]))
  expect(await audiencesOf('web')).toEqual(['billing'])
})

test('row 142: resources whose Realm is not watched wait, and their rows stay', async () => {
  const before = await owners()
  await operator.start({}, { watchNamespaces: ['team'] })
  await operator.write('team.yaml', passwordless('tina', { lastName: 'Turner' }, TEAM), passwordless('tara', {}, TEAM))
  for (const name of ['tina', 'tara']) {
    const about = { resource: `User/team/${name}`, msg: expect.stringContaining('is not watched by the operator') }
    await eventually(() => expect(operator.log).toContainEqual(expect.objectContaining(about)))
  }
  expect(await owners()).toEqual(before)
  expect(operator.log).toContainEqual(
    expect.objectContaining({
      kind: 'Realm',
      rows: 1,
      msg: expect.stringContaining('rows of namespaces outside --watch-namespaces stay in force'),
    }),
  )
})
