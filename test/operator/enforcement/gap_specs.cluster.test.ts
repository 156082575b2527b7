import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { ControlPlane } from '../../support/control_plane.ts'
import { MERGE_PATCH } from '../../support/control_plane/account.ts'
import type { Account } from '../../support/control_plane/account.ts'
import { installPolicies, removePolicies } from '../../support/policies.ts'
import { eventually } from '../operator_under_test.ts'
import { enforcementPlane, enforcementWorld } from './world.ts'
import type { EnforcementWorld, Running } from './world.ts'

/** Frank writes requests and may approve. In a gap he writes one in the name of Carol, and approves it afterwards. */
describe('row 138: a request that was written while the admission policies were not in force', () => {
  let plane: ControlPlane
  let ann: Account
  let frank: Account
  let world: EnforcementWorld
  let running: Running
  let worlds = 0

  beforeAll(async () => {
    plane = await enforcementPlane('ann', 'frank')
    ann = plane.user('ann')
    frank = plane.user('frank')
  })
  afterAll(() => plane?.stop())

  beforeEach(async () => {
    await removePolicies(plane.admin)
    world = await enforcementWorld(plane, `spec-${++worlds}`)
    const ended = world
    onTestFinished(() => ended.end())
    await installPolicies(plane.admin)
    running = await world.start()
    await untilEnforced()
  })

  /** Also where there is no Realm to say so. */
  async function untilEnforced(): Promise<void> {
    await eventually(async () => {
      const { rows } = await world.database.pool.query('select gap_since from approval_enforcement')
      expect(rows).toEqual([{ gap_since: null }])
    })
  }

  async function untilGap(): Promise<void> {
    await eventually(async () => {
      const { rows } = await world.database.pool.query('select gap_since from approval_enforcement')
      expect(rows).toEqual([{ gap_since: expect.any(Date) }])
    })
  }

  /** The policies are gone while `written` runs, and the operator is there. */
  async function inGap(written: () => Promise<unknown>): Promise<void> {
    await removePolicies(plane.admin)
    // A policy acts for a moment after it was deleted.
    await eventually(written)
    await untilGap()
    await installPolicies(plane.admin)
    await untilEnforced()
  }

  /** Frank's request in Carol's name, which admission refuses outside of a gap. */
  const forge = (name: string, role?: string) =>
    world.request(name, { as: frank, requestedBy: 'carol', ...(role !== undefined && { role }) })

  /** Frank's approval grants nothing; written again under the policies, the request is his. */
  async function expectUnproven(name: string): Promise<void> {
    expect(await world.untilSaid(name, 'DecisionUnproven')).toContain('edit spec')
    await world.approve(name, frank)
    await eventually(async () => {
      const { status } = await world.read(name)
      expect(status?.granted?.uncounted).toMatchObject([{ approver: 'frank', reason: 'DecisionUnproven' }])
    })
    expect(await world.granted()).toEqual([])
    expect(await world.recorded()).toEqual([])
    await world.untilSaid(name, 'DecisionUnproven')

    await expect(world.edit(name, { as: frank })).rejects.toThrow('spec.requestedBy must be frank')
    const { spec } = await world.read(name)
    // Carol counts as a former requester: admission cannot know that she wrote nothing.
    await world.edit(name, { as: frank, spec: { requestedBy: 'frank', formerRequesters: [spec.requestedBy] } })
    await world.untilSaid(name, 'PendingApproval')
    await expect(world.approve(name, frank)).rejects.toThrow('frank')
    await world.approve(name, ann)
    await world.untilSaid(name, 'Granted')
  }

  test('created in a gap and approved after it', async () => {
    await world.createRealm()
    await inGap(() => forge('forged'))
    await expectUnproven('forged')
  })

  test('created in a gap while the operator was away', async () => {
    await world.createRealm()
    await world.request('known')
    await world.untilSaid('known', 'PendingApproval')
    await running.stop()
    await removePolicies(plane.admin)
    await eventually(() => forge('forged'))
    await installPolicies(plane.admin)
    await world.start()
    await world.untilEnforced('True', 'Enforced')
    await expectUnproven('forged')
    await world.approve('known', ann)
    await world.untilSaid('known', 'Granted')
  })

  test.for([1, 2])('a waiting request that was edited in a gap, %d times', async (times) => {
    await world.createRealm()
    await world.request('waiting', { as: frank, requestedBy: 'frank' })
    await world.untilSaid('waiting', 'PendingApproval')
    await inGap(() => world.edit('waiting', { as: frank, spec: { requestedBy: 'carol', reason: `${times}` } }))
    if (times === 2)
      await inGap(() => world.edit('waiting', { as: frank, spec: { requestedBy: 'carol', reason: '3' } }))
    await expectUnproven('waiting')
  })

  test('a waiting request that was deleted and re-created in a gap', async () => {
    await world.createRealm()
    await world.request('waiting', { as: ann, requestedBy: 'ann' })
    await world.untilSaid('waiting', 'PendingApproval')
    await removePolicies(plane.admin)
    await world.remove('waiting')
    await eventually(() => forge('waiting'))
    await untilGap()
    await installPolicies(plane.admin)
    await untilEnforced()
    await expectUnproven('waiting')
  })

  test('created before its Realm; later the Realm is deleted and created again', async () => {
    await inGap(() => forge('forged'))
    await world.createRealm()
    await world.untilSaid('forged', 'DecisionUnproven')
    await world.deleteRealm()
    await world.untilSaid('forged', 'RealmNotFound')
    await world.createRealm()
    await expectUnproven('forged')
  })

  test('stays unproven when all rows that can be derived are lost, and in the next gap', async () => {
    await world.createRealm()
    await inGap(() => forge('forged'))
    await world.untilSaid('forged', 'DecisionUnproven')
    await running.stop()
    await world.database.pool.query('delete from role_assignments')
    await world.start()
    await world.untilSaid('forged', 'DecisionUnproven')
    await inGap(() => world.request('another'))
    await expectUnproven('forged')
  })

  test('in a realm without governance, a role that always needs a decision', async () => {
    await world.createRealm({ enabled: false })
    await inGap(async () => {
      await forge('admin', 'svc-realm-admin')
      await world.request('reader', { as: frank, requestedBy: 'carol' })
    })
    // Its author could have written it under the policies, too.
    await world.untilSaid('reader', 'GrantedUngoverned')
    await world.untilSaid('admin', 'DecisionUnproven')
    await world.approve('admin', frank)
    await eventually(async () => {
      const { status } = await world.read('admin')
      expect(status?.granted?.uncounted).toMatchObject([{ approver: 'frank' }])
    })
    expect(await world.granted()).toEqual(['reader'])
  })

  test('requests that were known before a gap stay as they were, and so do their recorded approvals', async () => {
    await world.createRealm({ enabled: true, requiredApprovals: 2 })
    await world.request('two')
    await world.untilSaid('two', 'PendingApproval')
    await world.approve('two', ann)
    await world.untilSaid('two', 'QuorumNotReached')
    await inGap(() => forge('forged'))
    await world.untilSaid('forged', 'DecisionUnproven')
    await world.untilSaid('two', 'QuorumNotReached')
    await world.approve('two', frank)
    await world.untilSaid('two', 'Granted')
    expect(await world.recorded()).toEqual(['ann', 'frank'])
  })

  test('a request that waits for its Realm since before the gap stays proven', async () => {
    await world.request('early')
    await world.untilSaid('early', 'RealmNotFound')
    await inGap(() => forge('forged'))
    await world.createRealm()
    await world.untilSaid('forged', 'DecisionUnproven')
    await world.untilSaid('early', 'PendingApproval')
    await world.approve('early', ann)
    await world.untilSaid('early', 'Granted')
  })

  /** Frank tries all he can, as fast as he can, until the returned function is called. */
  function keepForging(names: readonly string[]): () => Promise<number> {
    const over = new AbortController()
    let admitted = 0
    const attempt = (write: Promise<unknown>): Promise<unknown> =>
      write.then(
        () => (admitted += 1),
        () => undefined,
      )
    const loops = names.map(async (name) => {
      while (!over.signal.aborted) {
        await attempt(forge(name))
        await attempt(world.edit(name, { as: frank, spec: { requestedBy: 'carol', reason: `${Math.random()}` } }))
        await attempt(world.approve(name, frank))
      }
    })
    return async () => {
      over.abort()
      await Promise.all(loops)
      return admitted
    }
  }

  test('created, edited and approved without a pause, while policies go and return and the operator restarts', async () => {
    await world.createRealm()
    const names = ['one', 'two', 'three']
    const stopForging = keepForging(names)
    await removePolicies(plane.admin)
    await eventually(() => world.read('one'))
    await installPolicies(plane.admin)
    await untilGap()
    await running.stop()
    running = await world.start()
    await untilEnforced()
    // A gap of a moment: as short as the API server permits.
    await removePolicies(plane.admin)
    await installPolicies(plane.admin)
    await untilGap()
    await untilEnforced()
    for (const name of names) await world.untilSaid(name, 'DecisionUnproven')
    expect(await stopForging()).toBeGreaterThan(names.length)

    for (const name of names) await world.untilSaid(name, 'DecisionUnproven')
    expect(await world.granted()).toEqual([])
    expect(await world.recorded()).toEqual([])
    const { rows } = await world.database.pool.query(`select 1 from audit where action = 'roles_granted'`)
    expect(rows).toEqual([])
  })

  test('with a forged status that says it was proven and granted', async () => {
    await world.createRealm()
    await inGap(async () => {
      await forge('forged')
      const { metadata, spec } = await world.read('forged')
      const realm = await plane.admin.do(
        'GET',
        `/apis/realmkeeper.io/v1alpha1/namespaces/${metadata.namespace}/realms/${metadata.namespace}`,
      )
      const request = {
        realmUID: realm.metadata.uid,
        roles: spec.roles,
        requiredApprovals: 1,
        resolvedAt: '2026-01-01T00:00:00Z',
      }
      const serving = { ...request, generation: 1, grantedAt: request.resolvedAt, governed: true, approvers: ['ann'] }
      const granted = { ...request, generation: 1, listedRoles: spec.roles, serving }
      const path = `/apis/realmkeeper.io/v1alpha1/namespaces/${metadata.namespace}/roleassignments/forged/status`
      await frank.do('PATCH', path, { status: { granted } }, { contentType: MERGE_PATCH })
    })
    await expectUnproven('forged')
  })
})
