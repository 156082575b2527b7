import { expect, test } from 'vitest'
import { withUnproven } from '../../../operator/enforcement/mark_unproven.ts'
import type { RoleAssignmentResource } from '../../../operator/view/resource_types.ts'
import type { Granted } from '../../../operator/role_assignment/granted.ts'
import type { DecisionRow } from '../../../store/operator/decisions.ts'
import { assignmentWith } from './memory_policies.ts'

const SERVING: Granted = {
  generation: 1,
  serving: {
    generation: 1,
    realmUID: 'realm-1',
    roles: ['reader'],
    grantedAt: '2026-01-01T00:00:00.000Z',
    governed: true,
    approvers: ['ann'],
  },
}

const RESOLVED: Granted = {
  generation: 1,
  realmUID: 'realm-1',
  listedRoles: ['reader'],
  roles: ['reader'],
  requiredApprovals: 2,
  resolvedAt: '2026-01-01T00:00:00.000Z',
}

function recorded(approver: string, generation = 1): DecisionRow {
  const about = { assignmentUid: 'uid-1', generation, realm: 'acme', namespace: 'acme', name: 'first' }
  return { ...about, approver, decision: 'Approved', form: 'entry', recordedAt: new Date(0) }
}

function withEntry(observed: { observedGeneration: number; observedUID: string }): RoleAssignmentResource {
  const resource = assignmentWith([])
  resource.status = { approvals: [{ approver: 'ann', decision: 'Approved', ...observed }] }
  return resource
}

function withCondition(): RoleAssignmentResource {
  const resource = assignmentWith([])
  const decided = { decidedBy: 'ann', observedGeneration: 1, observedUID: 'uid-1' }
  resource.status = {
    conditions: [
      {
        type: 'Approved',
        status: 'True',
        reason: 'Fine',
        message: '',
        lastTransitionTime: '2026-01-01T00:00:00Z',
        ...decided,
      },
    ],
  }
  return resource
}

const unproven = (approver: string, generation = 1) => ({ approver, generation, reason: 'DecisionUnproven' })

test.for<[string, RoleAssignmentResource, Granted | undefined, DecisionRow[], unknown]>([
  ['an entry', assignmentWith(['ann']), undefined, [], [unproven('ann')]],
  ['a condition', withCondition(), undefined, [], [unproven('ann')]],
  ['several entries', assignmentWith(['ben', 'ann']), undefined, [], [unproven('ben'), unproven('ann')]],
  ['no decision', assignmentWith([]), undefined, [], undefined],
  ['a recorded decision', assignmentWith(['ann']), RESOLVED, [recorded('ann')], undefined],
  [
    'an approval that is stored as uncounted',
    assignmentWith(['ann']),
    { generation: 1, uncounted: [{ approver: 'ann', generation: 1, reason: 'DecidedTooEarly' }] },
    [],
    undefined,
  ],
  ['the approval of the requester', assignmentWith(['Carol']), undefined, [], undefined],
  ['a decision on another uid', withEntry({ observedGeneration: 1, observedUID: 'uid-0' }), undefined, [], undefined],
  [
    'a decision on a later generation',
    withEntry({ observedGeneration: 7, observedUID: 'uid-1' }),
    undefined,
    [],
    [{ approver: 'ann', generation: 7, reason: 'DecidedTooEarly' }],
  ],
  [
    'an object restored from a backup',
    withEntry({ observedGeneration: 5, observedUID: 'uid-1' }),
    { generation: 4 },
    [],
    [{ approver: 'ann', generation: 5, reason: 'DecidedTooEarly' }],
  ],
])('%s', ([, resource, before, rows, expected]) => {
  expect(withUnproven(resource, before, rows)?.granted.uncounted).toEqual(expected)
})

test('the grant stays', () => {
  expect(withUnproven(assignmentWith(['ben'], { generation: 2 }), SERVING, [])?.granted).toEqual({
    generation: 2,
    uncounted: [unproven('ben', 2)],
    serving: SERVING.serving,
  })
})
