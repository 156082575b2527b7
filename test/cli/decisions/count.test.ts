import { describe, expect, test } from 'vitest'
import { assignmentRow, isPending } from '../../../cli/decisions/assignment_row.ts'
import type { AssignmentObject, AssignmentRow, RealmObject } from '../../../cli/decisions/assignment_row.ts'
import { listAssignments as listInCluster } from '../../../cli/decisions/cluster/cluster_assignments.ts'
import { listAssignments, readAssignment } from '../../../cli/decisions/directory/directory_assignments.ts'
import { decide } from '../../../operator/role_assignment/decide.ts'
import type { Cluster } from '../../../cli/cluster.ts'
import type { DecisionResult } from '../../../operator/role_assignment/decision.ts'
import { statusDecisions } from '../../../operator/role_assignment/status_decisions.ts'
import { assignment, key, realm } from '../../operator/source/conformance.ts'
import { directoryWorld } from '../../operator/source/directory/world.ts'
import { approve, deny, edit, entry, inputOf, reconcile, START, world } from '../../operator/role_assignment/world.ts'
import type { World } from '../../operator/role_assignment/world.ts'

/** The row for the object that the operator has reconciled, and the operator's message. */
function rowAfterReconcile(w: World): { row: AssignmentRow; message: string } {
  const { ready } = reconcile(w)
  return { row: assignmentRow(objectOf(w, ready), () => realmOf(w), w.now), message: ready.message }
}

function objectOf(w: World, ready: DecisionResult['ready']): AssignmentObject {
  const { uid, generation, namespace, name, subject, roles } = w.assignment
  const { requestedBy, submittedBy, formerRequesters } = w.assignment
  const status = {
    approvals: w.decisions
      .filter(({ form }) => form === 'entry')
      .map(({ approver, decision, observedGeneration, observedUID }) => {
        return { approver, decision, observedGeneration, observedUID }
      }),
    conditions: [{ type: 'Ready', ...ready, observedGeneration: generation, lastTransitionTime: START }],
    ...(w.status && { granted: w.status }),
  }
  const writers = { requestedBy, submittedBy, formerRequesters }
  const spec = { realmRef: { name: 'acme' }, subject, roles, ...writers }
  return { namespace, name, uid, generation, creationTimestamp: START, spec, status }
}

function realmOf({ realm, enforcement }: World): RealmObject {
  const status = enforcement.mode === 'enforced' ? 'True' : 'False'
  const reason = { enforced: 'Enforced', gap: 'PoliciesDiffer', unchecked: 'Unchecked', development: 'Development' }[
    enforcement.mode
  ]
  const condition = { type: 'ApprovalEnforced', status, reason, message: '', lastTransitionTime: START }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the members that a row needs
  return { spec: { identityGovernance: realm.governance }, status: { conditions: [condition] } } as RealmObject
}

type Row = [says: string, change: (w: World) => void, approved: number, notCounted?: string]

const rows: Row[] = [
  ['no approval', () => {}, 0],
  ['one approval', (w) => approve(w, 'bob'), 1],
  ['the requester’s own approval', (w) => approve(w, 'carol', 'bob'), 1, 'made by the requester'],
  ['the requester in another letter case', (w) => approve(w, 'CAROL', 'bob'), 1, 'made by the requester'],
  [
    'the approval of a former requester',
    (w) => (edit(w, { formerRequesters: ['Frank'] }), approve(w, 'frank', 'bob')),
    1,
    'made by an account that wrote the request',
  ],
  ['one name in two letter cases', (w) => approve(w, 'bob', 'BOB'), 1, 'counts once, with that of bob'],
  ['an approval of an earlier generation', (w) => (approve(w, 'bob'), edit(w, {})), 0],
  ['a decision on another uid', (w) => entry(w, 'bob', { observedUID: 'assignment-0' }), 0],
  [
    'an approval made before a role was defined',
    (w) => {
      w.realm = { ...w.realm, roles: w.realm.roles.filter(({ name }) => name !== 'manager') }
      edit(w, {})
      approve(w, 'bob')
      reconcile(w)
      w.realm = world().realm
      w.realm.governance.requiredApprovals = 3
      approve(w, 'dave')
    },
    1,
    'DecidedTooEarly',
  ],
  [
    'an approval set aside in a gap, and one made later',
    (w) => {
      w.enforcement = { mode: 'gap', required: true }
      approve(w, 'bob')
      reconcile(w)
      w.enforcement = { mode: 'enforced', required: true }
      approve(w, 'dave')
    },
    1,
    'DecisionUnproven',
  ],
  [
    'an approval in a gap, with enforcement required',
    (w) => ((w.enforcement = { mode: 'gap', required: true }), approve(w, 'bob')),
    0,
    'DecisionUnproven',
  ],
  [
    'an approval in a gap, with enforcement required, after a role was removed from the realm',
    (w) => {
      w.enforcement = { mode: 'gap', required: true }
      approve(w, 'bob')
      reconcile(w)
      w.realm = { ...w.realm, roles: [] }
    },
    0,
    'DecisionUnproven',
  ],
  [
    'an approval of a generation older than the stored one',
    (w) => {
      const { generation } = w.assignment
      edit(w, {})
      reconcile(w)
      w.assignment = { ...w.assignment, generation }
      approve(w, 'bob')
    },
    0,
    'DecisionUnproven',
  ],
  [
    'an approval in a gap, without enforcement required',
    (w) => ((w.enforcement = { mode: 'gap', required: false }), approve(w, 'bob')),
    1,
  ],
  [
    'an approval recorded before a gap',
    (w) => (approve(w, 'bob'), reconcile(w), (w.enforcement = { mode: 'gap', required: true })),
    1,
  ],
  [
    'an approval that the operator has not checked',
    (w) => ((w.enforcement = { mode: 'unchecked', required: true }), approve(w, 'bob')),
    0,
    'the operator has not checked it yet',
  ],
  [
    'an approval in development',
    (w) => ((w.enforcement = { mode: 'development', required: false }), approve(w, 'bob')),
    1,
  ],
  [
    'an approval for a replaced User',
    (w) => (approve(w, 'bob'), reconcile(w), (w.user = { uid: 'user-2', sub: 'sub-2', realmUid: 'realm-1' })),
    0,
    'SubjectReplaced',
  ],
  [
    'an approval of a spec that may have been written in a gap',
    (w) => ((w.spec = 'unproven'), approve(w, 'bob')),
    0,
    'DecisionUnproven',
  ],
]

describe('the CLI counts approvals as the operator does', () => {
  test.each(rows)('%s', (_, change, approved, notCounted) => {
    const w = world()
    w.realm.governance.requiredApprovals = 3
    reconcile(w)
    change(w)
    const { row, message } = rowAfterReconcile(w)
    expect(row.quorum).toEqual({ approved, required: 3 })
    if (/\d of 3/.test(message)) expect(message).toContain(`${approved} of 3 approvals`)
    if (notCounted === undefined) expect(row.decisions.filter(({ counts }) => !counts)).toEqual([])
    else expect(row.decisions).toContainEqual(expect.objectContaining({ counts: false, notCounted }))
  })

  test('a grant', () => {
    const w = world()
    reconcile(w)
    approve(w, 'bob')
    expect(rowAfterReconcile(w).row).toMatchObject({ state: 'granted', quorum: { approved: 1, required: 1 } })
    w.decisions = []
    expect(rowAfterReconcile(w).row.quorum).toEqual({ approved: 1, required: 1 })
  })

  test('an approver who approved in one letter case and denied in another', () => {
    const w = world()
    w.realm.governance.requiredApprovals = 3
    reconcile(w)
    approve(w, 'bob')
    deny(w, 'BOB')
    const { row } = rowAfterReconcile(w)
    expect(row).toMatchObject({ state: 'denied', quorum: { approved: 0 } })
    expect(row.decisions).toMatchObject([{ notCounted: 'the same approver denied' }, { counts: true }])
  })

  test('approvals that the operator has not seen yet', () => {
    const w = world()
    approve(w, 'bob', 'Carol')
    const before = { status: 'False', reason: 'PendingApproval', message: '' } as const
    const row = assignmentRow(objectOf(w, before), () => realmOf(w), w.now)
    expect(row.quorum.approved).toBe(decide(inputOf(w)).granted.serving?.approvers.length)
  })
})

test('with --dir, neither the requester nor a second spelling of a name counts', async () => {
  const directory = await directoryWorld()
  await directory.apply(realm('acme', { identityGovernance: { enabled: true, requiredApprovals: 3 } }))
  const request = assignment('readers')
  await directory.apply(request)
  const stored = await directory.eventually(() => directory.source().get(key('RoleAssignment', 'readers')))
  const { uid, generation } = stored.metadata
  const approvals = ['rita', 'ann', 'ANN'].map((approver) => {
    return { approver, decision: 'Approved', observedGeneration: generation, observedUID: uid }
  })
  await directory.apply({ ...request, status: { approvals } })
  const where = { directory: directory.directory, stateDir: directory.stateDir, now: new Date() }
  const entries = () => statusDecisions(directory.source().get(key('RoleAssignment', 'readers'))?.status)
  await directory.eventually(() => entries().length === 3)
  const [row] = (await listAssignments(where)).filter(isPending)
  expect(row).toMatchObject({ quorum: { approved: 1, required: 3 } })
  expect(row?.decisions.map(({ counts }) => counts)).toEqual([false, true, false])

  // As the operator does after a gap.
  await directory.source().writeStatus(key('RoleAssignment', 'readers'), uid, {
    observedGeneration: generation,
    conditions: [],
    fields: {
      granted: {
        generation,
        realmUID: 'r',
        listedRoles: ['reader'],
        roles: ['reader'],
        requiredApprovals: 3,
        resolvedAt: START,
        uncounted: [{ approver: 'ann', generation, reason: 'DecisionUnproven' }],
      },
    },
  })
  expect(await readAssignment({ ...where, name: 'readers' })).toMatchObject({ quorum: { approved: 0 } })
})

test('in a cluster, neither the requester, a second spelling, a former generation nor an unproven approval counts', async () => {
  const decision = (approver: string, observedGeneration = 2) => {
    return { approver, decision: 'Approved', observedGeneration, observedUID: 'u' }
  }
  const granted = {
    generation: 2,
    realmUID: 'r',
    listedRoles: ['reader'],
    roles: ['reader'],
    requiredApprovals: 5,
    resolvedAt: START,
    uncounted: [{ approver: 'dave', generation: 2, reason: 'DecisionUnproven' }],
  }
  const object = {
    apiVersion: 'realmkeeper.io/v1alpha1',
    kind: 'RoleAssignment',
    metadata: { name: 'one', namespace: 'team', uid: 'u', generation: 2, creationTimestamp: START },
    spec: {
      realmRef: { name: 'acme' },
      subject: { kind: 'User', name: 'alice' },
      roles: ['reader'],
      requestedBy: 'rita',
    },
    status: {
      granted,
      approvals: [decision('Rita'), decision('ann'), decision('ANN'), decision('bea', 1), decision('dave')],
    },
  }
  const [seen] = await listInCluster(clusterWith(object), {}, new Date())
  expect(seen?.row.quorum).toEqual({ approved: 1, required: 5 })
  expect(seen?.row.decisions.map(({ notCounted }) => notCounted)).toEqual([
    'made by the requester',
    undefined,
    'counts once, with that of ann',
    'made on generation 1',
    'DecisionUnproven',
  ])
})

/** A cluster whose API server holds one RoleAssignment. */
function clusterWith(object: object): Cluster {
  const client = {
    list: async () => ({ items: [object], metadata: {} }),
    object: async () => ({ spec: { identityGovernance: { enabled: true, requiredApprovals: 5 } } }),
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the members that a list of RoleAssignments uses
  return { client, namespace: 'team' } as unknown as Cluster
}
