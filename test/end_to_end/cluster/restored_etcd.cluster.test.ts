import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { clusterWorld, until } from './cluster_world.ts'
import type { ClusterWorld } from './cluster_world.ts'

const ADMIN_ROLE = 'svc-realm-admin'

describe('row 141: etcd is restored from a backup under a running operator and server', () => {
  let world: ClusterWorld
  let pids: number[]
  beforeAll(async () => {
    world = await clusterWorld()
    await world.applyQuickstart()
    await world.patch('realms', 'quickstart', { spec: { roles: [{ name: 'reader' }, { name: 'writer' }] } })
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

  const renewals = (): Promise<string> =>
    world.plane.kubectl(['get', 'leases', '--all-namespaces', '-o=jsonpath={.items[*].spec.renewTime}'])

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
    const renewed = await renewals()
    await apply(user('eve'))
    await world.untilReady('users', 'eve')
    await writeMuch()
    // The versions tell nothing then: the operator finds an older renewal of its Lease.
    await until(async () => expect(await renewals()).not.toBe(renewed))
    await world.plane.restore(backup, { writesOfOthers: 1_000 })
    await until(async () => expect((await login('eve')).body).toMatchObject({ error: 'invalid_grant' }))
    await expectEditsAct('frank')
  })

  test('also when the operator was suspended meanwhile', async () => {
    const backup = world.plane.backup()
    await writeMuch()
    world.operator.signal('SIGSTOP')
    await world.plane.restore(backup, { writesOfOthers: 1_000 })
    await world.patch('users', 'bob', { spec: { enabled: false } })
    world.operator.signal('SIGCONT')
    await until(async () => expect((await world.login('bob')).body).toMatchObject({ error: 'invalid_grant' }))
    await world.patch('users', 'bob', { spec: { enabled: true } })
    await expectEditsAct('frank')
  })

  describe('role assignments', () => {
    const NAME = 'alice-realm-admin'
    const LESSER = 'reader'
    const OTHER = 'writer'
    const edit = (roles: string[], reason: string) => world.patch('roleassignments', NAME, { spec: { roles, reason } })
    const untilRoles = (check: (roles: string[]) => void) => until(async () => check(await rolesOfAlice()))
    const metrics = async (): Promise<string> => (await fetch(`${world.operator.healthUrl}/metrics`)).text()
    const gaps = async (): Promise<number> =>
      Number(/realmkeeper_approval_enforcement_gaps_total (\d+)/.exec(await metrics())?.[1] ?? 0)
    /** A restore is a gap of some seconds. Requests that are written in it do not count. */
    const untilGapIsOver = (before: number) =>
      until(async () => {
        expect(await gaps()).toBeGreaterThan(before)
        expect(await metrics()).toContain('realmkeeper_approval_enforcement_state{state="enforced"} 1')
      })
    /** Edits again while the operator still takes the restore for a gap: it begins a moment after the API server is back. */
    async function requestAndApprove(roles: string[], reason: string): Promise<void> {
      let edits = 0
      await until(async () => {
        await edit(roles, `${reason} ${++edits}`)
        const { status } = await world.untilReady('roleassignments', NAME, 'False')
        expect(status?.conditions?.find(({ type }) => type === 'Ready')?.reason).toBe('PendingApproval')
      })
      await world.approve(NAME)
      await world.untilReady('roleassignments', NAME)
      await untilRoles((present) => expect(present).toEqual(expect.arrayContaining(roles)))
    }

    test('a deleted one comes back without its roles, until it is edited and approved', async () => {
      // The restores of the tests before.
      await untilGapIsOver(-1)
      const file = 'examples/quickstart/05_role_assignments.yaml'
      await world.plane.kubectl(['apply', '-f', file], { as: world.author })
      await requestAndApprove([LESSER], 'Less at first.')
      await requestAndApprove([ADMIN_ROLE], 'Alice answers for this realm.')
      const backup = world.plane.backup()
      const before = await gaps()
      await world.plane.kubectl(['delete', 'roleassignment', NAME, '-n=quickstart'])
      await untilRoles((roles) => expect(roles).not.toContain(ADMIN_ROLE))
      await writeMuch()
      await world.plane.restore(backup)
      await world.untilReady('roleassignments', NAME, 'False')
      expect(await rolesOfAlice()).not.toContain(ADMIN_ROLE)
      await untilGapIsOver(before)
      await requestAndApprove([ADMIN_ROLE], 'Again.')
    })

    test('one with an older generation grants nothing, and a repeated generation needs decisions of its own', async () => {
      await requestAndApprove([LESSER], 'Less.')
      const backup = world.plane.backup()
      const before = await gaps()
      await requestAndApprove([ADMIN_ROLE], 'More.')
      await writeMuch()
      await world.plane.restore(backup)
      await untilRoles((roles) => expect(roles).not.toContain(ADMIN_ROLE))
      await untilGapIsOver(before)
      expect(await rolesOfAlice()).not.toContain(LESSER)

      // The generation that carol approved with another content.
      await edit([OTHER], 'Another one.')
      await world.untilReady('roleassignments', NAME, 'False', 'DecisionUnproven')
      for (const role of [OTHER, LESSER, ADMIN_ROLE]) expect(await rolesOfAlice()).not.toContain(role)
      await requestAndApprove([OTHER], 'Again.')
    })
  })
})
