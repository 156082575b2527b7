import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { installCrds } from '../../support/control_plane.ts'
import { MERGE_PATCH } from '../../support/control_plane/account.ts'
import { clusterWorld, until } from './cluster_world.ts'
import type { ClusterWorld } from './cluster_world.ts'

const CRDS = ['realms', 'clients', 'users', 'roleassignments'].map((plural) => `${plural}.realmkeeper.io`)

describe('losses in a cluster', () => {
  let world: ClusterWorld
  beforeAll(async () => {
    world = await clusterWorld()
    await world.applyQuickstart()
    await world.untilReady('users', 'alice')
    await world.untilReady('users', 'bob')
    await world.untilReady('clients', 'shop')
  })
  afterAll(() => world?.end())

  const apply = (file: string) =>
    world.plane.kubectl(['apply', '-f', `examples/quickstart/${file}`], { as: world.author })
  const count = async (statement: string): Promise<number> => {
    const { rows } = await world.database.pool.query<{ count: number }>(
      `select count(*)::int as count from ${statement}`,
    )
    return rows[0]?.count ?? -1
  }

  test('row 115: deleted while no operator runs: the finalizer keeps the object until an operator removes its rows', async () => {
    await world.operator.kill()
    await world.plane.kubectl(['delete', 'user.realmkeeper.io', 'bob', '-n=quickstart', '--wait=false'])
    const waiting = await world.find('users', 'bob')
    expect(waiting?.metadata.finalizers).toEqual(['realmkeeper.io/cleanup'])
    expect((await world.login('bob')).status).toBe(200)
    world.operator = await world.startOperator()
    await until(async () => expect(await world.find('users', 'bob')).toBeUndefined())
    expect(await count(`users where name = 'bob'`)).toBe(0)
    await until(async () => expect((await world.login('bob')).body).toMatchObject({ error: 'invalid_grant' }))
  })

  test('row 116: a finalizer removed by hand: the sweep at the start finds the row', async () => {
    await world.operator.stop()
    const path = '/apis/realmkeeper.io/v1alpha1/namespaces/quickstart/users/alice'
    await world.plane.admin.do('PATCH', path, { metadata: { finalizers: null } }, { contentType: MERGE_PATCH })
    await world.plane.admin.do('DELETE', path)
    expect(await count(`users where name = 'alice'`)).toBe(1)
    world.operator = await world.startOperator()
    await until(async () => expect(await count(`users where name = 'alice'`)).toBe(0))
    await world.plane.kubectl(['apply', '-f', 'examples/quickstart'], { as: world.author })
    await world.untilReady('users', 'alice')
    await world.untilReady('users', 'bob')
  })

  test('row 118: all CustomResourceDefinitions are deleted and created again: no row is lost, and resources find their rows', async () => {
    const before = await count('users')
    expect(before).toBe(2)
    await world.plane.kubectl(['delete', 'crd', ...CRDS, '--timeout=60s'])
    expect(await count('users')).toBe(before)
    expect(await count('realms')).toBe(1)
    expect(await count('clients')).toBe(1)
    expect((await world.login('alice')).status).toBe(200)

    await installCrds(world.plane.admin)
    // Neither at once nor at the next start: an object that is missing from the list of a new CRD was not deleted.
    await world.operator.stop()
    world.operator = await world.startOperator()
    await until(async () => expect(await world.operator.isReady()).toBe(true))
    expect(await count('users')).toBe(before)
    expect((await world.login('alice')).status).toBe(200)

    // A Realm that is created again finds its row, and the rows of Users that are still missing.
    await apply('02_realm.yaml')
    await world.untilReady('realms', 'quickstart')
    expect(await count('users')).toBe(before)
    await until(async () => expect((await world.login('bob')).status).toBe(200))
  })

  test('row 118: until all are back, a deletion removes its row, and rows of missing resources stay', async () => {
    await apply('04_users.yaml')
    await world.untilReady('users', 'alice')
    await world.untilReady('users', 'bob')
    await until(async () => expect((await world.login('bob')).status).toBe(200))
    expect(await count('clients')).toBe(1)
    await world.plane.kubectl(['delete', 'user.realmkeeper.io', 'bob', '-n=quickstart'])
    expect(await count(`users where name = 'bob'`)).toBe(0)
    await until(async () => expect((await world.login('bob')).body).toMatchObject({ error: 'invalid_grant' }))
    expect((await world.login('alice')).status).toBe(200)
    expect(await count('clients')).toBe(1)

    await apply('')
    for (const name of ['alice', 'bob']) await world.untilReady('users', name)
    await world.untilReady('clients', 'shop')
    await until(async () => expect((await world.login('bob')).status).toBe(200))
  })

  test('row 118: --accept-empty lets the former rows be removed', async () => {
    await world.operator.stop()
    const path = '/apis/realmkeeper.io/v1alpha1/namespaces/quickstart/users/bob'
    await world.plane.admin.do('PATCH', path, { metadata: { finalizers: null } }, { contentType: MERGE_PATCH })
    await world.plane.admin.do('DELETE', path)
    world.operator = await world.startOperator()
    await until(() => expect(world.operator.output()).toContain('realmkeeper operator --accept-empty User'))
    expect(await count('users')).toBe(2)
    await world.operator.stop()
    world.operator = await world.startOperator({ args: ['--accept-empty=User'] })
    await until(async () => expect(await count('users')).toBe(1))
    expect((await world.login('alice')).status).toBe(200)
  })

  test('row 124: without the right to one kind the operator reports it, is not ready, and reconciles the others', async () => {
    await world.operator.stop()
    const role = '/apis/rbac.authorization.k8s.io/v1/clusterroles/operator'
    const { rules } = await world.plane.admin.do('GET', role)
    const without = rules.map((rule: { resources: string[] }) => ({
      ...rule,
      resources: rule.resources.filter((resource) => resource !== 'users'),
    }))
    await world.plane.admin.do('PATCH', role, { rules: without }, { contentType: MERGE_PATCH })
    world.operator = await world.startOperator()
    await until(() => expect(world.operator.output()).toMatch(/users.*lacks the right|cannot list resource .*users/))
    await world.patch('clients', 'shop', { spec: { name: 'The shop, renamed' } })
    await world.untilReady('clients', 'shop')
    expect(await world.operator.isReady()).toBe(false)

    await world.plane.admin.do('PATCH', role, { rules }, { contentType: MERGE_PATCH })
    await until(async () => expect(await world.operator.isReady()).toBe(true), 60)
  })
})
