import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { clusterWorld, until } from './cluster_world.ts'
import type { ClusterWorld } from './cluster_world.ts'

const ADMIN_ROLE = 'svc-realm-admin'

describe('etcd is restored from a backup under a running operator and server', () => {
  let world: ClusterWorld
  let pids: number[]
  beforeAll(async () => {
    world = await clusterWorld()
    await world.applyQuickstart()
    for (const name of ['alice', 'bob']) await world.untilReady('users', name)
    await world.untilReady('clients', 'shop')
    await world.approve('alice-realm-admin')
    await world.untilReady('roleassignments', 'alice-realm-admin')
    pids = [world.operator.pid, world.server.pid]
  })
  afterEach(() => {
    expect([world.operator.pid, world.server.pid], 'no process was restarted').toEqual(pids)
    expect([world.operator.running(), world.server.running()]).toEqual([true, true])
  })
  afterAll(() => world?.end())

  const user = (name: string, spec: object = {}) => ({
    apiVersion: 'realmkeeper.io/v1alpha1',
    kind: 'User',
    metadata: { name, namespace: 'quickstart' },
    spec: { realmRef: { name: 'quickstart' }, username: name, passwordSecretRef: { name: 'bob-password' }, ...spec },
  })
  const apply = (object: object) =>
    world.plane.kubectl(['apply', '-f', '-'], { as: world.author, input: JSON.stringify(object) })
  const login = (name: string) => world.login(name, {}, 'bob-password-1')
  const rolesOfAlice = async (): Promise<string[]> => {
    const { status, body } = await world.login('alice')
    expect(status).toBe(200)
    return world.rolesIn(body.access_token)
  }
  /** Many writes, so that resource versions after a restore stay below the former ones for long. */
  async function writeMuch(): Promise<void> {
    for (let round = 0; round < 30; round++) await world.patch('users', 'bob', { spec: { firstName: `Bob ${round}` } })
    await world.untilReady('users', 'bob')
  }

  async function expectEditsAct(name: string): Promise<void> {
    await world.patch('users', 'bob', { spec: { enabled: false } })
    await until(async () => expect((await world.login('bob')).body).toMatchObject({ error: 'invalid_grant' }))
    await apply(user(name))
    await world.untilReady('users', name)
    await until(async () => expect((await login(name)).status).toBe(200))
    await world.plane.kubectl(['delete', 'user.realmkeeper.io', name, '-n=quickstart'])
    await until(async () => expect((await login(name)).body).toMatchObject({ error: 'invalid_grant' }))
    await world.patch('users', 'bob', { spec: { enabled: true } })
    await until(async () => expect((await world.login('bob')).status).toBe(200))
    await until(async () => expect(await world.operator.isReady()).toBe(true))
  }

  test('what is edited, created and deleted afterwards acts, and what is newer than the backup goes', async () => {
    const backup = world.plane.backup()
    await apply(user('eve'))
    await world.untilReady('users', 'eve')
    await writeMuch()
    expect((await login('eve')).status).toBe(200)
    await world.plane.restore(backup)
    await until(async () => expect((await login('eve')).body).toMatchObject({ error: 'invalid_grant' }))
    await expectEditsAct('frank')

    expect(await rolesOfAlice()).toContain(ADMIN_ROLE)
    await world.plane.kubectl(['delete', 'roleassignment', 'alice-realm-admin', '-n=quickstart'])
    await until(async () => expect(await rolesOfAlice()).not.toContain(ADMIN_ROLE))
  })

  test('also when the restored cluster has passed the former resource versions at once', async () => {
    const backup = world.plane.backup()
    await apply(user('eve'))
    await world.untilReady('users', 'eve')
    await writeMuch()
    await world.plane.restore(backup, { writesOfOthers: 1_000 })
    await until(async () => expect((await login('eve')).body).toMatchObject({ error: 'invalid_grant' }))
    await expectEditsAct('frank')
  })
})
