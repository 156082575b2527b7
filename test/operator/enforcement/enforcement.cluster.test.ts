import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { ControlPlane } from '../../support/control_plane.ts'
import { JSON_PATCH, MERGE_PATCH } from '../../support/control_plane/account.ts'
import type { Account } from '../../support/control_plane/account.ts'
import {
  installPolicies as install,
  POLICY_NAMES,
  POLICY_PATHS,
  removePolicies as remove,
} from '../../support/policies.ts'
import { eventually } from '../operator_under_test.ts'
import { grant, OPERATOR_RULES } from '../source/cluster/rights.ts'
import { enforcementPlane, enforcementWorld } from './world.ts'
import type { EnforcementWorld } from './world.ts'

const DECISIONS = 'realmkeeper-roleassignment-decisions'
const POLICY = `${POLICY_PATHS.ValidatingAdmissionPolicy}/${DECISIONS}`
const BINDING = `${POLICY_PATHS.ValidatingAdmissionPolicyBinding}/${DECISIONS}`
const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/roleassignments.realmkeeper.io'

const OURS = ['realmkeeper.io']
const STATUS_RULES = [
  { apiGroups: OURS, resources: ['realms', 'roleassignments'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: OURS, resources: ['roleassignments', 'roleassignments/status'], verbs: ['get', 'patch', 'update'] },
]

describe('ApprovalEnforced on a real API server', () => {
  let plane: ControlPlane
  let ann: Account
  /** Has every right but the one to approve. */
  let mallory: Account
  let world: EnforcementWorld
  let worlds = 0

  beforeAll(async () => {
    plane = await enforcementPlane()
    const approves = { apiGroups: OURS, resources: ['realms', 'roleassignments'], verbs: ['approve'] }
    await grant(plane.admin, 'ann', [...STATUS_RULES, approves])
    await grant(plane.admin, 'mallory', STATUS_RULES)
    ann = plane.user('ann')
    mallory = plane.user('mallory')
  })
  afterAll(() => plane?.stop())

  beforeEach(async () => {
    await removePolicies()
    world = await enforcementWorld(plane, `acme-${++worlds}`)
    const ended = world
    onTestFinished(() => ended.end())
  })

  const installPolicies = () => install(plane.admin)
  const removePolicies = () => remove(plane.admin)

  /** An operator that enforces, and one grant. */
  async function established(): Promise<Awaited<ReturnType<EnforcementWorld['start']>>> {
    await installPolicies()
    await world.createRealm()
    const running = await world.start()
    await world.untilEnforced('True', 'Enforced')
    await world.request('first')
    await world.untilSaid('first', 'PendingApproval')
    await world.approve('first', ann)
    await world.untilSaid('first', 'Granted')
    return running
  }

  /** A forgery goes through as soon as the API server has learned that a policy is gone. */
  async function forge(name: string): Promise<void> {
    await eventually(() => world.approve(name, mallory, 'ann'))
  }

  /** Where there is no Realm to say so. */
  async function untilProven(): Promise<void> {
    await eventually(async () => {
      const { rows } = await world.database.pool.query('select gap_since from approval_enforcement')
      expect(rows).toEqual([{ gap_since: null }])
    })
  }

  async function expectUnproven(name: string): Promise<void> {
    await world.untilEnforced('True', 'Enforced')
    await world.untilSaid(name, 'DecisionUnproven')
    expect(await world.recorded()).toEqual(['ann'])
    await world.edit(name)
    await world.approve(name, ann)
    await world.untilSaid(name, 'Granted')
    expect(await world.recorded()).toEqual(['ann', 'ann'])
  }

  test('row 114: without policies it is False, says what is missing, and nothing new is granted', async () => {
    await world.createRealm()
    await world.start()
    const message = await world.untilEnforced('False', 'PoliciesDiffer')
    for (const name of POLICY_NAMES) expect(message).toContain(`ValidatingAdmissionPolicy ${name} is missing`)
    await world.request('early')
    await forge('early')
    await world.untilSaid('early', 'ApprovalNotEnforced')
    expect(await world.granted()).toEqual([])

    await installPolicies()
    await world.untilEnforced('False', 'RecentlyChanged')
    await world.untilEnforced('True', 'Enforced')
    await world.untilSaid('early', 'DecisionUnproven')
    expect(await world.recorded()).toEqual([])
    await expect(world.approve('early', mallory, 'bob')).rejects.toThrow('needs the verb approve')
    await world.edit('early')
    await world.approve('early', ann)
    await world.untilSaid('early', 'Granted')
    expect(await world.granted()).toEqual(['reader'])
  })

  test('row 114: removed and put back with a forged decision in between, the operator looking on', async () => {
    await established()
    await world.request('second')
    await world.untilSaid('second', 'PendingApproval')
    await removePolicies()
    await forge('second')
    await world.untilEnforced('False', 'PoliciesDiffer')
    await world.untilSaid('second', 'ApprovalNotEnforced')
    expect(await world.granted()).toEqual(['reader'])
    await installPolicies()
    await expectUnproven('second')
  })

  test('row 114: removed and put back with a forged decision in between, the operator away', async () => {
    const running = await established()
    await world.request('second')
    await world.untilSaid('second', 'PendingApproval')
    await running.stop()
    await removePolicies()
    await forge('second')
    await installPolicies()
    await world.start()
    await expectUnproven('second')
    await world.untilSaid('first', 'Granted')
  })

  test('row 114: a gap that a process saw is not over for the next one', async () => {
    const running = await established()
    await world.request('second')
    await plane.admin.do('PATCH', BINDING, { spec: { validationActions: ['Warn'] } }, { contentType: MERGE_PATCH })
    await forge('second')
    await world.untilEnforced('False', 'PoliciesDiffer')
    await running.stop()
    const { rows } = await world.database.pool.query('select gap_since from approval_enforcement')
    expect(rows).toEqual([{ gap_since: expect.any(Date) }])
    await plane.admin.do('PATCH', BINDING, { spec: { validationActions: ['Deny'] } }, { contentType: MERGE_PATCH })
    await world.start()
    await expectUnproven('second')
  })

  const CHANGES: Record<string, { path: string; change: object[]; back: object[] }> = {
    'failurePolicy Ignore': {
      path: POLICY,
      change: [{ op: 'replace', path: '/spec/failurePolicy', value: 'Ignore' }],
      back: [{ op: 'replace', path: '/spec/failurePolicy', value: 'Fail' }],
    },
    'a condition that matches no request': {
      path: POLICY,
      change: [{ op: 'add', path: '/spec/matchConditions', value: [{ name: 'none', expression: 'false' }] }],
      back: [{ op: 'remove', path: '/spec/matchConditions' }],
    },
    'a CRD without the status subresource': {
      path: CRD,
      change: [{ op: 'remove', path: '/spec/versions/0/subresources' }],
      back: [{ op: 'add', path: '/spec/versions/0/subresources', value: { status: {} } }],
    },
  }

  test.for(Object.entries(CHANGES))('row 114: %s, and back: grants stay, nothing new is granted', async ([, at]) => {
    await established()
    await world.request('second')
    await world.untilSaid('second', 'PendingApproval')
    await plane.admin.do('PATCH', at.path, at.change, { contentType: JSON_PATCH })
    await world.untilEnforced('False', 'PoliciesDiffer')
    expect(await world.granted()).toEqual(['reader'])
    await plane.admin.do('PATCH', at.path, at.back, { contentType: JSON_PATCH })
    // Its uid is the same, but what it was meanwhile is not known.
    await world.untilEnforced('False', 'RecentlyChanged')
    await world.untilEnforced('True', 'Enforced')
    await world.approve('second', ann)
    await world.untilSaid('second', 'Granted')
    await world.untilSaid('first', 'Granted')
    expect(await world.granted()).toEqual(['reader', 'reader'])
  })

  test('row 114: a decision that was forged before there was a Realm does not count when there is one', async () => {
    await world.start()
    await world.request('second')
    await forge('second')
    await world.untilSaid('second', 'RealmNotFound')
    await installPolicies()
    await untilProven()
    await world.createRealm()
    await world.untilEnforced('True', 'Enforced')
    await eventually(async () => {
      const { status } = await world.read('second')
      const ready = status?.conditions?.find(({ type }) => type === 'Ready')
      expect(ready?.reason).toMatch(/^Decid|^DecisionUnproven$/)
    })
    expect(await world.granted()).toEqual([])
    expect(await world.recorded()).toEqual([])
  })

  test('an approval from before there was a Realm does not count when there is one', async () => {
    await installPolicies()
    await world.start()
    await untilProven()
    await world.request('second')
    await world.approve('second', ann)
    await eventually(async () => {
      const { status } = await world.read('second')
      expect(status?.granted).toMatchObject({ uncounted: [{ approver: 'ann', reason: 'DecidedTooEarly' }] })
    })
    await world.createRealm()
    await world.untilSaid('second', 'DecidedTooEarly')
    expect(await world.granted()).toEqual([])
  })

  test('row 104: an approver writes no result, and one that is dropped is put back at once', async () => {
    await established()
    await world.request('second')
    await world.untilSaid('second', 'PendingApproval')
    const { metadata } = await world.read('second')
    const path = `/apis/realmkeeper.io/v1alpha1/namespaces/${metadata.namespace}/roleassignments/second/status`
    const patch = (...conditions: object[]) =>
      ann.do('PATCH', path, { status: { conditions } }, { contentType: MERGE_PATCH })
    const about = { message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }
    const ready = { type: 'Ready', status: 'True', reason: 'Granted', observedGeneration: 1, ...about }
    await expect(patch(ready)).rejects.toThrow('only the operator may write conditions other than Approved and Denied')
    const denied = { type: 'Denied', status: 'True', reason: 'No', decidedBy: 'ann', ...about }
    await patch({ ...denied, observedGeneration: metadata.generation, observedUID: metadata.uid })
    await world.untilSaid('second', 'Denied')
  })

  test('row 110: a re-created object is requested again, and its former status cannot be restored', async () => {
    await established()
    const { metadata, status } = await world.read('first')
    const path = `/apis/realmkeeper.io/v1alpha1/namespaces/${metadata.namespace}/roleassignments/first`
    await plane.admin.do('DELETE', path)
    await eventually(async () => expect((await plane.admin.call('GET', path)).status).toBe(404))
    expect(await world.granted()).toEqual([])
    await world.request('first')
    // Not even by who may do everything: what it says was decided on another object.
    const restored = plane.admin.do('PATCH', `${path}/status`, { status }, { contentType: MERGE_PATCH })
    await expect(restored).rejects.toThrow(DECISIONS)
    await world.untilSaid('first', 'PendingApproval')
    expect(await world.granted()).toEqual([])
    await world.approve('first', ann)
    await world.untilSaid('first', 'Granted')
  })

  test('how long a request waited is measured', async () => {
    await established()
    const metrics = await world.metrics()
    expect(metrics).toMatch(/realmkeeper_assignment_waiting_seconds_count\{until="decision"\} 1/)
    expect(metrics).toMatch(/realmkeeper_assignment_waiting_seconds_count\{until="grant"\} 1/)
    expect(metrics).toMatch(/realmkeeper_assignment_waiting_seconds_bucket\{le="60",until="grant"\} 1/)
  })

  test('row 114: what was forged into status.granted is not believed when the rows are lost', async () => {
    const running = await established()
    await world.request('second')
    await world.untilSaid('second', 'PendingApproval')
    await running.stop()
    await removePolicies()
    const first = await world.read('first')
    const path = `/apis/realmkeeper.io/v1alpha1/namespaces/${first.metadata.namespace}/roleassignments/second/status`
    const forged = { status: { granted: first.status?.granted } }
    await eventually(() => mallory.do('PATCH', path, forged, { contentType: MERGE_PATCH }))
    await installPolicies()
    await world.database.pool.query('delete from role_assignments')
    await world.database.pool.query('delete from granted_roles')
    await world.start()
    await untilProven()
    await world.edit('second')
    await world.untilSaid('second', 'PendingApproval')
    expect(await world.granted()).toEqual([])
  })

  test('lost rows are rebuilt from statuses that only the operator can have written', async () => {
    const running = await established()
    await eventually(async () => {
      const { rows } = await world.database.pool.query('select statuses_agree from approval_enforcement')
      expect(rows).toEqual([{ statuses_agree: true }])
    })
    await running.stop()
    await world.database.pool.query('delete from role_assignments')
    await world.database.pool.query('delete from granted_roles')
    await world.start()
    await eventually(async () => expect(await world.granted()).toEqual(['reader']))
    await world.untilSaid('first', 'Granted')
    const { rows } = await world.database.pool.query(
      `select count(*)::integer from audit where action = 'roles_granted'`,
    )
    expect(rows).toEqual([{ count: 1 }])
  })

  test('a database that is lost is trusted where that is asked for', async () => {
    const running = await established()
    await running.stop()
    for (const table of ['role_assignments', 'granted_roles', 'decisions', 'approval_enforcement']) {
      await world.database.pool.query(`delete from ${table}`)
    }
    await world.start({ trustExisting: true })
    await world.untilEnforced('True', 'Enforced')
    await eventually(async () => expect(await world.granted()).toEqual(['reader']))
  })

  test('row 124: an operator that may not read the policies says so', async () => {
    await installPolicies()
    await world.createRealm()
    const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles/operator'
    const { rules } = await plane.admin.do('GET', path)
    await plane.admin.do('PATCH', path, { rules: OPERATOR_RULES }, { contentType: MERGE_PATCH })
    onTestFinished(() => plane.admin.do('PATCH', path, { rules }, { contentType: MERGE_PATCH }))
    await world.start()
    expect(await world.untilEnforced('False', 'AccessDenied')).toContain('the operator may not read')
  })
})
