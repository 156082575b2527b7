import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clusterWorld, until } from './cluster_world.ts'
import type { ClusterWorld } from './cluster_world.ts'

const ROLE = 'reader'

describe('the watched namespaces are narrowed and widened', () => {
  let world: ClusterWorld
  let refreshToken: string

  const realmRef = { name: 'quickstart', namespace: 'quickstart' }
  const object = (kind: string, name: string, spec: object, namespace = 'team') => ({
    apiVersion: 'realmkeeper.io/v1alpha1',
    kind,
    metadata: { name, namespace },
    spec: { realmRef, ...spec },
  })
  const secret = (name: string, value: string) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'team' },
    stringData: { password: value },
  })
  const user = (name: string, namespace = 'team') =>
    object('User', name, { username: name, passwordSecretRef: { name: 'tina-password' } }, namespace)
  const apply = async (...objects: object[]) => {
    const input = objects.map((each) => JSON.stringify(each)).join('\n---\n')
    await world.plane.kubectl(['apply', '-f', '-'], { as: world.author, input })
  }
  const remove = (kind: string, name: string) =>
    world.plane.kubectl(['delete', `${kind}.realmkeeper.io`, name, '-n=team', '--wait=false'])
  const count = async (from: string): Promise<number> => {
    const { rows } = await world.database.pool.query<{ count: number }>(`select count(*)::int as count from ${from}`)
    return rows[0]?.count ?? -1
  }
  const teamRows = async (): Promise<number[]> => [
    await count(`clients where namespace = 'team'`),
    await count(`users where namespace = 'team'`),
    await count(`role_assignments where namespace = 'team'`),
  ]
  const login = (name: string) => world.login(name, {}, 'tina-password-1')
  async function restart(...args: string[]): Promise<void> {
    await world.operator.stop()
    world.operator = await world.startOperator({ args })
    await until(async () => expect(await world.operator.isReady()).toBe(true))
    await until(async () =>
      // The help of the metric begins with a 1, too.
      expect(await (await fetch(`${world.operator.healthUrl}/metrics`)).text()).toMatch(/_leading 1$/m),
    )
  }
  const metrics = async (): Promise<string> => (await fetch(`${world.operator.healthUrl}/metrics`)).text()

  /** Tina's session, her roles, and what she can do. */
  async function expectNothingLost(): Promise<void> {
    expect(await teamRows()).toEqual([1, 2, 1])
    expect(await count(`sessions where end_reason is not null`)).toBe(0)
    const { status, body } = await world.login('tina', {}, 'tina-password-1')
    expect(status).toBe(200)
    expect(world.rolesIn(body.access_token)).toContain(ROLE)
    const refreshed = await world.post('/token', {
      grant_type: 'refresh_token',
      client_id: 'shop',
      client_secret: 'shop-secret-for-development',
      refresh_token: refreshToken,
    })
    expect(refreshed.status).toBe(200)
    refreshToken = refreshed.body.refresh_token ?? ''
  }

  beforeAll(async () => {
    world = await clusterWorld()
    await world.applyQuickstart()
    await world.patch('realms', 'quickstart', {
      spec: { allowedNamespaces: { from: 'All' }, roles: [{ name: ROLE }] },
    })
    await world.plane.admin.do('POST', '/api/v1/namespaces', { metadata: { name: 'team' } })
    await apply(
      secret('tina-password', 'tina-password-1'),
      user('tina'),
      user('tom'),
      object('Client', 'billing', { clientId: 'billing' }),
      object('RoleAssignment', 'tina-reader', {
        subject: { kind: 'User', name: 'tina' },
        roles: [ROLE],
        reason: 'She reads.',
        requestedBy: 'platform-team',
      }),
    )
    for (const name of ['tina', 'tom']) await world.untilReady('users', name, 'True', undefined, 'team')
    await world.untilReady('clients', 'billing', 'True', undefined, 'team')
    await world.untilReady('clients', 'shop')
    await world.untilReady('users', 'bob')
    await world.approve('tina-reader', undefined, 'team')
    await world.untilReady('roleassignments', 'tina-reader', 'True', undefined, 'team')
    await until(async () => expect((await login('tina')).status).toBe(200))
    refreshToken = (await login('tina')).body.refresh_token ?? ''
  })
  afterAll(() => world?.end())

  test('row 142: narrowed, no row goes and no session ends; the operator reports the rows', async () => {
    await restart('--watch-namespaces=quickstart')
    await expectNothingLost()
    expect(world.operator.output()).toContain('rows of namespaces outside --watch-namespaces stay in force')
    expect(await metrics()).toContain('realmkeeper_operator_rows_outside_scope{kind="User"} 2')
    await expectNothingLost()
  })

  test('narrowed, deletions in watched namespaces count', async () => {
    await world.plane.kubectl(['delete', 'user.realmkeeper.io', 'bob', '-n=quickstart'])
    expect(await count(`users where name = 'bob'`)).toBe(0)
    await apply({
      ...user('bob', 'quickstart'),
      spec: { ...user('bob').spec, passwordSecretRef: { name: 'bob-password' } },
    })
    await world.untilReady('users', 'bob')
  })

  test('narrowed, a watched namespace cannot take names of the others', async () => {
    await apply(object('User', 'thief', { username: 'tina' }, 'quickstart'))
    await world.untilReady('users', 'thief', 'False', 'UsernameTaken')
    await apply(object('Client', 'billing-too', { clientId: 'billing' }, 'quickstart'))
    await world.untilReady('clients', 'billing-too', 'False', 'ClientIdTaken')
    // An audience of another namespace has to accept the client, which cannot be known now.
    await apply(object('Client', 'thief', { clientId: 'thief', audiences: ['billing'] }, 'quickstart'))
    await world.untilReady('clients', 'thief', 'False', 'AudienceNotAllowed')
    await world.plane.kubectl(['delete', 'client.realmkeeper.io', 'billing-too', 'thief', '-n=quickstart'])
    await world.plane.kubectl(['delete', 'user.realmkeeper.io', 'thief', '-n=quickstart'])
    await expectNothingLost()
  })

  test('narrowed, an object elsewhere waits for its finalizer, and the operator reports it where it may list it', async () => {
    await remove('user', 'tom')
    await restart('--watch-namespaces=quickstart')
    expect(world.operator.output()).toContain('are being deleted and wait for the finalizer')
    expect(world.operator.output()).toContain('User/team/tom')
    expect(await metrics()).toContain('realmkeeper_operator_finalizers_outside_scope{kind="User"} 1')
    await expectNothingLost()
  })

  test('row 142: narrowed to a namespace without the Realm, its Users stay registered', async () => {
    await restart('--watch-namespaces=quickstart,elsewhere')
    await expectNothingLost()
    await world.operator.stop()
    await apply(user('tara'))
    world.operator = await world.startOperator({ args: ['--watch-namespaces=team'] })
    await world.untilReady('users', 'tara', 'Unknown', 'Reconciling', 'team')
    const tara = await world.find('users', 'tara', 'team')
    expect(JSON.stringify(tara?.status)).toContain('--watch-namespaces')
    expect((await login('tina')).status).toBe(200)
    expect((await world.login('alice')).status).toBe(200)
    await world.plane.kubectl(['delete', 'user.realmkeeper.io', 'tara', '-n=team'])
  })

  test('row 142: widened again, the operator finds what was there, and what was deleted goes', async () => {
    await restart()
    await until(async () => expect(await world.find('users', 'tom', 'team')).toBeUndefined())
    await until(async () => expect((await login('tom')).body).toMatchObject({ error: 'invalid_grant' }))
    expect(await teamRows()).toEqual([1, 1, 1])
    const { body } = await login('tina')
    expect(world.rolesIn(body.access_token)).toContain(ROLE)
    await world.patch('users', 'tina', { spec: { enabled: false } }, 'team')
    await until(async () => expect((await login('tina')).body).toMatchObject({ error: 'invalid_grant' }))
    await world.patch('users', 'tina', { spec: { enabled: true } }, 'team')
    await until(async () => expect((await login('tina')).status).toBe(200))
  })

  test('row 142: --accept-empty removes the rows of namespaces that are not watched any more', async () => {
    await restart('--watch-namespaces=quickstart', '--accept-empty=User,RoleAssignment')
    await until(async () => expect(await teamRows()).toEqual([1, 0, 0]))
    await until(async () => expect((await login('tina')).body).toMatchObject({ error: 'invalid_grant' }))
    expect((await world.login('bob')).status).toBe(200)
  })
})
