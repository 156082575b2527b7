import { describe, expect, test } from 'vitest'
import { decide } from '../../../operator/role_assignment/decide.ts'
import { approve, deny, edit, entry, inputOf, pass, reconcile, START, verdict, world } from './world.ts'
import type { World } from './world.ts'

/** A row: the valid case (one approval of the one that is needed), and one thing that is different. */
type Row = [says: string, change: (world: World) => void, verdict: string]

const MANAGER = 'editor manager viewer'

function afterFirstReconcile(): World {
  const seen = world()
  reconcile(seen)
  return seen
}

test('the valid case: requested, reconciled, approved, granted', () => {
  const seen = afterFirstReconcile()
  approve(seen, 'bob')
  const { ready, roles, grantee, granted, newDecisions } = reconcile(seen)

  expect(ready).toEqual({
    status: 'True',
    reason: 'Granted',
    message: 'granted: editor, manager, viewer; approved by bob',
  })
  expect(grantee).toEqual({ kind: 'User', subject: 'sub-of-alice' })
  expect(roles).toEqual(['editor', 'manager', 'viewer'].map((role) => ({ role, expiresAt: null })))
  expect(newDecisions).toEqual([
    {
      assignmentUid: 'assignment-1',
      generation: 1,
      realm: 'acme',
      namespace: 'acme',
      name: 'alice-manager',
      approver: 'bob',
      decision: 'Approved',
      form: 'entry',
      recordedAt: new Date(START),
    },
  ])
  expect(granted).toEqual({
    generation: 1,
    realmUID: 'realm-1',
    subjectUID: 'user-1',
    sub: 'sub-of-alice',
    listedRoles: ['manager'],
    roles: ['editor', 'manager', 'viewer'],
    requiredApprovals: 1,
    resolvedAt: START,
    serving: {
      generation: 1,
      realmUID: 'realm-1',
      subjectUID: 'user-1',
      sub: 'sub-of-alice',
      roles: ['editor', 'manager', 'viewer'],
      grantedAt: START,
      governed: true,
      approvers: ['bob'],
    },
  })
})

describe('which decisions count', () => {
  const rows: Row[] = [
    ['none was made', () => {}, 'PendingApproval:'],
    ['an entry', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`],
    ['a condition', (w) => entry(w, 'bob', { form: 'condition' }), `Granted: ${MANAGER}`],
    ['row 110: of another uid', (w) => entry(w, 'bob', { observedUID: 'assignment-0' }), 'PendingApproval:'],
    ['of an empty uid', (w) => entry(w, 'bob', { observedUID: '' }), 'PendingApproval:'],
    ['row 109: of an earlier generation', (w) => (entry(w, 'bob'), edit(w, {})), 'PendingApproval:'],
    ['of a later generation', (w) => entry(w, 'bob', { observedGeneration: 2 }), 'PendingApproval:'],
    ['row 101: by the requester', (w) => approve(w, 'carol'), 'PendingApproval:'],
    ['row 101: by the requester in another letter case', (w) => approve(w, 'CAROL'), 'PendingApproval:'],
    ['by the requester as a condition', (w) => entry(w, 'Carol', { form: 'condition' }), 'PendingApproval:'],
    ['a denial by the requester', (w) => (approve(w, 'bob'), deny(w, 'carol')), `Granted: ${MANAGER}`],
    ['by a user whose name begins with the requester’s', (w) => approve(w, 'carola'), `Granted: ${MANAGER}`],
    ['by the subject, who is not the requester', (w) => approve(w, 'alice'), `Granted: ${MANAGER}`],
    ['one denial', (w) => deny(w, 'bob'), 'Denied:'],
    ['a denial as a condition', (w) => entry(w, 'bob', { form: 'condition', decision: 'Denied' }), 'Denied:'],
    ['a denial and approvals', (w) => (approve(w, 'bob', 'dave', 'erin'), deny(w, 'frank')), 'Denied:'],
    [
      'an entry that approves and a condition that denies',
      (w) => (approve(w, 'bob'), entry(w, 'bob', { form: 'condition', decision: 'Denied' })),
      'Denied:',
    ],
    [
      'a denial of another uid',
      (w) => entry(w, 'bob', { decision: 'Denied', observedUID: 'assignment-0' }),
      'PendingApproval:',
    ],
    [
      'a denial of a later generation',
      (w) => entry(w, 'bob', { decision: 'Denied', observedGeneration: 2 }),
      'PendingApproval:',
    ],
    ['recorded before, and gone from status', (w) => w.recorded.push(recorded('bob')), `Granted: ${MANAGER}`],
    [
      'recorded for another uid',
      (w) => w.recorded.push({ ...recorded('bob'), assignmentUid: 'assignment-0' }),
      'PendingApproval:',
    ],
    [
      'recorded for another generation',
      (w) => w.recorded.push({ ...recorded('bob'), generation: 7 }),
      'PendingApproval:',
    ],
    [
      'recorded as denied, and status says approved',
      (w) => (approve(w, 'bob'), w.recorded.push({ ...recorded('bob'), decision: 'Denied' })),
      'Denied:',
    ],
    [
      'recorded as approved, and status says denied',
      (w) => (deny(w, 'bob'), w.recorded.push(recorded('bob'))),
      'Denied:',
    ],
    ['recorded of the requester', (w) => w.recorded.push(recorded('cArol')), 'PendingApproval:'],
  ]

  test.each(rows)('%s', (_, change, expected) => {
    const seen = afterFirstReconcile()
    change(seen)
    expect(verdict(reconcile(seen))).toBe(expected)
  })
})

describe('how many approvals are required', () => {
  const submit = (w: World, submittedBy?: string): void => edit(w, { submittedBy })
  const distrust = (w: World, extraApprovalForClaims = true): void => {
    w.realm.governance = { ...w.realm.governance, extraApprovalForClaims }
  }
  const rows: [string, number, (world: World) => void, string][] = [
    ['one of two', 2, (w) => approve(w, 'bob'), 'QuorumNotReached:'],
    ['two of two', 2, (w) => approve(w, 'bob', 'dave'), `Granted: ${MANAGER}`],
    ['three of two', 2, (w) => approve(w, 'bob', 'dave', 'erin'), `Granted: ${MANAGER}`],
    [
      'one name in two forms',
      2,
      (w) => (approve(w, 'bob'), entry(w, 'bob', { form: 'condition' })),
      'QuorumNotReached:',
    ],
    ['one name in two spellings', 2, (w) => approve(w, 'bob', 'BOB'), 'QuorumNotReached:'],
    [
      'one name in two forms and spellings',
      2,
      (w) => (approve(w, 'bob'), entry(w, 'Bob', { form: 'condition' })),
      'QuorumNotReached:',
    ],
    [
      'an entry and the condition of another',
      2,
      (w) => (approve(w, 'bob'), entry(w, 'dave', { form: 'condition' })),
      `Granted: ${MANAGER}`,
    ],
    ['the requester does not count for the quorum', 2, (w) => approve(w, 'bob', 'carol'), 'QuorumNotReached:'],
    [
      'one in status, the other recorded',
      2,
      (w) => (approve(w, 'bob'), w.recorded.push(recorded('dave'))),
      `Granted: ${MANAGER}`,
    ],
    [
      'one in status, and the same recorded',
      2,
      (w) => (approve(w, 'BOB'), w.recorded.push(recorded('bob'))),
      'QuorumNotReached:',
    ],
    [
      'the account that submitted does not count',
      1,
      (w) => (submit(w, 'gitops'), approve(w, 'GitOps')),
      'PendingApproval:',
    ],
    [
      'row 139: the writer of the roles does not count after another account has edited the reason',
      1,
      (w) => (
        edit(w, { requestedBy: 'alice', submittedBy: 'alice', formerRequesters: ['Frank'] }),
        approve(w, 'frank')
      ),
      'PendingApproval:',
    ],
    [
      'another approver counts then',
      1,
      (w) => (edit(w, { requestedBy: 'alice', formerRequesters: ['frank'] }), approve(w, 'frank', 'bob')),
      `Granted: ${MANAGER}`,
    ],
    [
      'a claim requires no more where the realm does not ask',
      1,
      (w) => (submit(w), approve(w, 'bob')),
      `Granted: ${MANAGER}`,
    ],
    [
      'a claim requires one more where the realm asks',
      1,
      (w) => (distrust(w), submit(w), approve(w, 'frank')),
      'QuorumNotReached:',
    ],
    [
      'a claim by a named account requires one more, too',
      2,
      (w) => (distrust(w), submit(w, 'gitops'), approve(w, 'frank', 'bob')),
      'QuorumNotReached:',
    ],
    ['a claim with one more', 1, (w) => (distrust(w), submit(w), approve(w, 'frank', 'bob')), `Granted: ${MANAGER}`],
    ['no claim requires one more', 1, (w) => (distrust(w), approve(w, 'bob')), `Granted: ${MANAGER}`],
    [
      'the realm asks for one more while a claim waits',
      1,
      (w) => (submit(w), reconcile(w), distrust(w), approve(w, 'frank')),
      'QuorumNotReached:',
    ],
    [
      'the realm trusts claims again while one waits',
      1,
      (w) => (distrust(w), submit(w), reconcile(w), distrust(w, false), approve(w, 'frank')),
      'QuorumNotReached:',
    ],
    [
      'a claim requires 16 at most',
      16,
      (w) => (distrust(w), submit(w), approve(w, ...Array.from({ length: 16 }, (_, n) => `approver-${n}`))),
      `Granted: ${MANAGER}`,
    ],
    ['a quorum of none is one', 0, () => {}, 'PendingApproval:'],
    ['a negative quorum is one', -3, () => {}, 'PendingApproval:'],
    ['a quorum that is no number is one', Number.NaN, () => {}, 'PendingApproval:'],
    [
      'sixteen at most',
      99,
      (w) => approve(w, ...Array.from({ length: 16 }, (_, n) => `approver-${n}`)),
      `Granted: ${MANAGER}`,
    ],
  ]

  test.each(rows)('%s', (_, requiredApprovals, change, expected) => {
    const seen = world()
    seen.realm.governance.requiredApprovals = requiredApprovals
    reconcile(seen)
    change(seen)
    expect(verdict(reconcile(seen))).toBe(expected)
  })
})

test.each<[string, (world: World) => void]>([
  ['more than the author holds', (w) => (w.assignment.roles = ['svc-realm-admin'])],
  ['to the author', (w) => (w.assignment.requestedBy = 'alice')],
  [
    'to a group that holds the author',
    (w) => ((w.assignment.subject = { kind: 'Group', name: 'default-roles-acme' }), (w.user = undefined)),
  ],
])('row 98: roles that give %s wait like all others, and the author cannot approve', (_, change) => {
  const seen = world()
  change(seen)
  expect(verdict(reconcile(seen))).toBe('PendingApproval:')
  approve(seen, seen.assignment.requestedBy)
  expect(verdict(reconcile(seen))).toBe('PendingApproval:')
})

describe('realm, subject and roles', () => {
  const rows: Row[] = [
    [
      'row 93: the realm is missing',
      (w) => (w.refused = { admitted: false, reason: 'RealmNotFound', message: 'there is no Realm acme/acme' }),
      'RealmNotFound:',
    ],
    [
      'row 93: the realm does not admit the namespace',
      (w) => (w.refused = { admitted: false, reason: 'NamespaceNotAllowed', message: 'not admitted' }),
      'NamespaceNotAllowed:',
    ],
    ['row 93: the user is missing', (w) => (w.user = undefined), 'SubjectNotFound:'],
    ['the user is one of another realm', (w) => (w.user = { ...w.user!, realmUid: 'realm-2' }), 'SubjectNotFound:'],
    ['a role is missing', (w) => (w.assignment.roles = ['viewer', 'nosuch']), 'RoleNotFound:'],
    ['a role is written in another letter case', (w) => (w.assignment.roles = ['Manager']), 'RoleNotFound:'],
    ['a field role of no field', (w) => (w.assignment.roles = ['_svc_iban.selfdecrypt']), 'RoleNotFound:'],
    ['the group of every user is no role', (w) => (w.assignment.roles = ['default-roles-acme']), 'RoleNotFound:'],
    ['the same role twice', (w) => (w.assignment.roles = ['viewer', 'viewer']), 'PendingApproval:'],
    ['it is being deleted', (w) => (w.assignment.deleting = true), 'Deleting:'],
  ]

  test.each(rows)('%s', (_, change, expected) => {
    const seen = world()
    change(seen)
    expect(verdict(reconcile(seen))).toBe(expected)

    seen.assignment = { ...seen.assignment, generation: 2 }
    approve(seen, 'bob')
    const granted = expected === 'PendingApproval:'
    expect(verdict(reconcile(seen)), 'an approval changes nothing about that').toBe(
      granted ? 'Granted: viewer' : expected,
    )
  })
})

describe('the group of every user', () => {
  const group = (change: (world: World) => void) => {
    const seen = world()
    seen.assignment = { ...seen.assignment, subject: { kind: 'Group', name: 'default-roles-acme' } }
    seen.user = undefined
    change(seen)
    return seen
  }

  test('is given roles in the namespace of its Realm', () => {
    const seen = group(() => {})
    reconcile(seen)
    approve(seen, 'bob')
    const { ready, grantee, granted } = reconcile(seen)
    expect(ready.reason).toBe('Granted')
    expect(grantee).toEqual({ kind: 'Group', subject: 'default-roles-acme' })
    expect(granted).not.toHaveProperty('sub')
  })

  test.each([
    ['from another namespace', (w: World) => (w.assignment.namespace = 'team'), 'NamespaceNotAllowed:'],
    ['of another realm', (w: World) => (w.assignment.subject.name = 'default-roles-other'), 'SubjectNotFound:'],
    ['that does not exist', (w: World) => (w.assignment.subject.name = 'admins'), 'SubjectNotFound:'],
    ['named by a User', (w: World) => (w.assignment.subject.kind = 'User'), 'SubjectNotFound:'],
  ])('is not %s', (_, change, expected) => {
    expect(verdict(reconcile(group(change)))).toBe(expected)
  })
})

describe('where governance is disabled', () => {
  const rows: [string, string[], string][] = [
    ['roles are granted without a decision', ['manager'], `GrantedUngoverned: ${MANAGER}`],
    ['svc-realm-admin needs one', ['svc-realm-admin'], 'PendingApproval:'],
    ['a role that encrypts needs one', ['_svc_dob.selfencrypt'], 'PendingApproval:'],
    ['a role that decrypts needs one', ['_svc_dob.selfdecrypt'], 'PendingApproval:'],
    ['an assignment that lists one waits as a whole', ['viewer', '_svc_dob.selfencrypt'], 'PendingApproval:'],
  ]

  test.each(rows)('%s', (_, roles, expected) => {
    const seen = world()
    seen.realm.governance.enabled = false
    seen.assignment.roles = roles
    expect(verdict(reconcile(seen))).toBe(expected)

    approve(seen, 'bob')
    const granted = expected.startsWith('Granted') ? expected : `Granted: ${roles.toSorted().join(' ')}`
    expect(verdict(reconcile(seen))).toBe(granted)
  })

  test('one denial denies nevertheless', () => {
    const seen = world()
    seen.realm.governance.enabled = false
    reconcile(seen)
    deny(seen, 'bob')
    expect(verdict(reconcile(seen))).toBe('Denied:')
  })
})

describe('how long it lasts', () => {
  const rows: [string, { expiresAt?: string; durationSeconds?: number }, string, string | null][] = [
    ['without an end', {}, `Granted: ${MANAGER}`, null],
    ['until a time', { expiresAt: '2026-02-01T01:00:00+01:00' }, `Granted: ${MANAGER}`, '2026-02-01T00:00:00.000Z'],
    ['a duration from the grant', { durationSeconds: 60 }, `Granted: ${MANAGER}`, '2026-01-01T00:01:10.000Z'],
    [
      'the earlier one, should both be there',
      { expiresAt: '2027-01-01T00:00:00Z', durationSeconds: 60 },
      `Granted: ${MANAGER}`,
      '2026-01-01T00:01:10.000Z',
    ],
    ['a time already past', { expiresAt: '2025-12-31T23:59:59Z' }, 'Expired:', null],
    ['this very moment', { expiresAt: '2026-01-01T00:00:10Z' }, 'Expired:', null],
    ['a time that cannot be read', { expiresAt: 'soon' }, 'Expired:', null],
    ['a leap second', { expiresAt: '2026-06-30T23:59:60Z' }, 'Expired:', null],
  ]

  test.each(rows)('%s', (_, time, expected, end) => {
    const seen = world()
    seen.assignment = { ...seen.assignment, ...time }
    reconcile(seen)
    pass(seen, 10)
    approve(seen, 'bob')
    const { roles, requeueAt, ...rest } = reconcile(seen)
    expect(verdict({ roles, ...rest })).toBe(expected)
    expect(roles.map(({ expiresAt }) => expiresAt?.toISOString() ?? null)).toEqual(roles.map(() => end))
    if (expected.startsWith('Granted')) expect(requeueAt?.toISOString() ?? null).toBe(end)
  })
})

describe('row 114: whether approval is enforced', () => {
  const gap = { mode: 'gap', required: true } as const
  const rows: Row[] = [
    [
      'in development the rules run here',
      (w) => (w.enforcement = { mode: 'development', required: true }),
      `Granted: ${MANAGER}`,
    ],
    [
      'in development the requester still cannot decide',
      (w) => ((w.enforcement = { mode: 'development', required: true }), (w.decisions = []), approve(w, 'Carol')),
      'PendingApproval:',
    ],
    ['nothing new in a gap', (w) => (w.enforcement = gap), 'ApprovalNotEnforced:'],
    [
      'not even what was recorded before',
      (w) => ((w.enforcement = gap), w.recorded.push(recorded('bob'))),
      'ApprovalNotEnforced:',
    ],
    [
      'not even without a decision',
      (w) => ((w.enforcement = gap), (w.realm.governance.enabled = false)),
      'ApprovalNotEnforced:',
    ],
    ['a denial counts in a gap', (w) => ((w.enforcement = gap), deny(w, 'dave')), 'Denied:'],
    [
      'nothing new while it is not known',
      (w) => ((w.enforcement = { mode: 'unchecked', required: true }), w.recorded.push(recorded('bob'))),
      'ApprovalNotEnforced:',
    ],
    [
      'what was just written waits to be checked',
      (w) => (w.enforcement = { mode: 'unchecked', required: true }),
      'PendingApproval:',
    ],
    [
      'who does not ask for enforcement gets it without',
      (w) => (w.enforcement = { mode: 'gap', required: false }),
      `Granted: ${MANAGER}`,
    ],
  ]

  test.each(rows)('%s', (_, change, expected) => {
    const seen = afterFirstReconcile()
    approve(seen, 'bob')
    change(seen)
    expect(verdict(reconcile(seen))).toBe(expected)
  })
})

describe('which entries are dropped', () => {
  const rows: [string, (world: World) => void, string[]][] = [
    ['one about the present generation stays', (w) => approve(w, 'bob'), []],
    ['one of an earlier generation is dropped', (w) => (approve(w, 'bob'), edit(w, {})), ['bob']],
    ['one of a later generation is dropped', (w) => entry(w, 'bob', { observedGeneration: 2 }), ['bob']],
    ['row 110: one of another uid is dropped', (w) => entry(w, 'bob', { observedUID: 'assignment-0' }), ['bob']],
    ['a denial of an earlier generation is dropped', (w) => (deny(w, 'bob'), edit(w, {})), ['bob']],
    ['a condition stays', (w) => (entry(w, 'bob', { form: 'condition' }), edit(w, {})), []],
    ['one of the requester stays, and does not count', (w) => approve(w, 'carol'), []],
  ]

  test.each(rows)('%s', (_, change, dropped) => {
    const seen = afterFirstReconcile()
    change(seen)
    expect(reconcile(seen).dropApprovals).toEqual(dropped)
  })
})

describe('the message of Ready', () => {
  const rows: [string, (world: World) => void, string][] = [
    [
      'who is missing',
      () => {},
      '0 of 2 approvals; waiting for 2 more; requested by carol, who cannot decide; requested: editor, manager, viewer',
    ],
    [
      'who was there',
      (w) => approve(w, 'bob'),
      '1 of 2 approvals; by bob; waiting for 1 more; requested by carol, who cannot decide; requested: editor, manager, viewer',
    ],
    [
      'who claims',
      (w) => edit(w, { submittedBy: 'gitops' }),
      '0 of 2 approvals; waiting for 2 more; requested by carol (as claimed by gitops), who cannot decide; requested: editor, manager, viewer',
    ],
    [
      'that an unknown account claims, and who else cannot decide',
      (w) => edit(w, { submittedBy: undefined, formerRequesters: ['frank', 'greg'] }),
      '0 of 2 approvals; waiting for 2 more; requested by carol (a claim), who cannot decide, and neither can frank, greg; requested: editor, manager, viewer',
    ],
    [
      'who denied',
      (w) => (approve(w, 'bob'), deny(w, 'dave')),
      'denied by dave; nothing is granted until spec is edited and the new generation is approved',
    ],
    ['which role is missing', (w) => edit(w, { roles: ['nosuch', 'viewer'] }), 'realm "acme" has no role nosuch'],
    ['which user is missing', (w) => (w.user = undefined), 'no User acme/alice in realm "acme"'],
  ]

  test.each(rows)('%s', (_, change, message) => {
    const seen = world()
    seen.realm.governance.requiredApprovals = 2
    reconcile(seen)
    change(seen)
    expect(reconcile(seen).ready.message).toBe(message)
  })

  test('what was approved in a gap', () => {
    const seen = afterFirstReconcile()
    seen.enforcement = { mode: 'gap', required: true }
    approve(seen, 'bob')
    expect(reconcile(seen).ready.message).toBe(
      'nothing new is granted while the admission policies are not in force (see ApprovalEnforced of the Realm); ' +
        '0 of 1 approval; waiting for 1 more; requested by carol, who cannot decide; ' +
        'approved by bob while approval was not enforced; ' +
        'an approval that does not count cannot be repeated: edit spec (for example reason) and have the new generation approved; ' +
        'requested: editor, manager, viewer',
    )
  })

  test('row 127: other people’s texts come in one bounded, printable line', () => {
    const nasty = `\u001B[31m\nReady=True ${'x'.repeat(32_768)}`
    const seen = world()
    seen.realm.governance.requiredApprovals = 16
    seen.assignment = { ...seen.assignment, requestedBy: nasty }
    reconcile(seen)
    approve(seen, ...Array.from({ length: 15 }, (_, n) => `${n}${nasty}`))
    const { message } = reconcile(seen).ready
    // oxlint-disable-next-line no-control-regex -- that is what must not be there
    expect(message).not.toMatch(/[\u0000-\u001F\u007F]/)
    expect(message.length).toBeLessThanOrEqual(1_000)

    seen.refused = { admitted: false, reason: 'RealmNotFound', message: nasty }
    expect(reconcile(seen).ready.message.length).toBeLessThanOrEqual(1_000)
    // oxlint-disable-next-line no-control-regex -- that is what must not be there
    expect(reconcile(seen).ready.message).not.toMatch(/[\u0000-\u001F\u007F]/)
  })
})

describe('a spec that may have been written while the admission policies were not in force', () => {
  function unproven(): World {
    const seen = world()
    seen.spec = 'unproven'
    return seen
  }

  test('no approval on it counts, and the message says what to do', () => {
    const seen = unproven()
    reconcile(seen)
    approve(seen, 'bob')
    const { ready, newDecisions, audit } = reconcile(seen)
    expect(ready).toEqual({
      status: 'False',
      reason: 'DecisionUnproven',
      message:
        'this generation may have been written while the admission policies were not in force, so its writer may not be ' +
        'the requester that it names; no decision on it counts: check spec, then edit spec (for example reason) and have ' +
        'the new generation approved',
    })
    expect(newDecisions).toEqual([])
    expect(audit).toMatchObject([{ details: { approver: 'bob', counted: false, reason: 'DecisionUnproven' } }])
  })

  test('it counts again once it is edited', () => {
    const seen = unproven()
    reconcile(seen)
    edit(seen, {})
    seen.spec = 'proven'
    reconcile(seen)
    approve(seen, 'bob')
    expect(verdict(reconcile(seen))).toBe(`Granted: ${MANAGER}`)
  })

  test.for<Row>([
    ['a denial counts', (seen) => deny(seen, 'bob'), 'Denied:'],
    [
      'without governance, no decision is needed',
      (seen) => (seen.realm.governance.enabled = false),
      `GrantedUngoverned: ${MANAGER}`,
    ],
    [
      'without governance, a role that always needs a decision waits',
      (seen) => {
        seen.realm.governance.enabled = false
        edit(seen, { roles: ['svc-realm-admin'] })
        approve(seen, 'bob')
      },
      'DecisionUnproven:',
    ],
    [
      'a former grant stays, and shrinks',
      (seen) => {
        seen.spec = 'proven'
        reconcile(seen)
        approve(seen, 'bob')
        reconcile(seen)
        edit(seen, { roles: ['editor'] })
        seen.spec = 'unproven'
      },
      'Granted: editor viewer',
    ],
    [
      'a former grant does not grow',
      (seen) => {
        seen.spec = 'proven'
        reconcile(seen)
        approve(seen, 'bob')
        reconcile(seen)
        edit(seen, { roles: ['manager', 'auditor'] })
        seen.spec = 'unproven'
        approve(seen, 'bob')
      },
      `DecisionUnproven: ${MANAGER}`,
    ],
    [
      'an approval of an unknown spec waits',
      (seen) => {
        seen.spec = 'unknown'
        reconcile(seen)
        approve(seen, 'bob')
      },
      'PendingApproval:',
    ],
  ])('%s', ([, change, expected]) => {
    const seen = unproven()
    change(seen)
    expect(verdict(reconcile(seen))).toBe(expected)
  })
})

test('the input is not changed', () => {
  const seen = afterFirstReconcile()
  approve(seen, 'bob')
  const input = inputOf(seen)
  const copy = structuredClone(input)
  decide(input)
  expect(input).toEqual(copy)
})

function recorded(approver: string) {
  return { assignmentUid: 'assignment-1', generation: 1, approver, decision: 'Approved' as const }
}
