import { expect, test } from 'vitest'
import { assignmentText, pendingText } from '../../../cli/decisions/assignment_text.ts'
import type { AssignmentRow } from '../../../cli/decisions/assignment_row.ts'

const row: AssignmentRow = {
  namespace: 'quickstart',
  name: 'alice-admin',
  uid: 'u',
  generation: 3,
  ageSeconds: 3_900,
  requestedBy: 'platform-team',
  claimed: false,
  formerRequesters: [],
  subject: { kind: 'User', name: 'alice' },
  realm: { namespace: 'quickstart', name: 'quickstart' },
  roles: ['admin'],
  durationSeconds: 86_400,
  change: { adds: ['admin', 'reader'], keeps: [], removes: ['writer'] },
  decisions: [
    { approver: 'carol', decision: 'Denied', comment: 'not yet', counts: false, notCounted: 'made on generation 2' },
  ],
  quorum: { approved: 1, required: 2 },
  state: 'waiting',
  resolved: true,
  ready: { reason: 'QuorumNotReached', message: 'one more approval is needed' },
  file: 'a.yaml',
  line: 7,
}

test('pending is a table', () => {
  expect(pendingText([row, { ...row, name: 'x', ageSeconds: 0 }])).toBe(
    [
      'NAMESPACE   NAME         SUBJECT     ADDS           REQUESTED BY   APPROVED  AGE   WHY',
      'quickstart  alice-admin  user/alice  admin, reader  platform-team  1 of 2    1h5m  QuorumNotReached',
      'quickstart  x            user/alice  admin, reader  platform-team  1 of 2    0s    QuorumNotReached',
    ].join('\n'),
  )
  expect(pendingText([])).toBe('no RoleAssignment waits for a decision')
})

test('pending and show name a claim as one, and all who cannot decide', () => {
  const claim = { ...row, claimed: true, formerRequesters: ['frank', 'greg'] }
  expect(pendingText([claim])).toContain('platform-team (a claim)')
  expect(assignmentText({ ...claim, claimedBy: 'gitops', claimedWith: 'argocd' })).toMatch(
    /^requested by +platform-team \(as claimed by gitops\)$/m,
  )
  const text = assignmentText({ ...claim, claimedWith: 'argocd' })
  expect(text).toMatch(/^requested by +platform-team \(a claim, written with argocd\)$/m)
  expect(text).toMatch(/^also written by +frank, greg$/m)
  expect(assignmentText(row)).toMatch(/^requested by +platform-team$/m)
  expect(assignmentText(row)).not.toContain('also written by')
})

test('show prints what an approval changes and which decisions count', () => {
  const text = assignmentText(row)
  expect(text).toMatch(/^seen +3\/u$/m)
  expect(text).toMatch(/^adds +admin, reader$/m)
  expect(text).toMatch(/^removes +writer$/m)
  expect(text).toMatch(/^ends +1d after it is granted$/m)
  expect(text).toMatch(/^ +Denied by carol \(does not count: made on generation 2\): not yet$/m)
})
