import { commonInvalid, condition, realmRefInvalid, realmRefUpdates, written } from './case.ts'
import type { KindCases } from './case.ts'

const approval = { approver: 'carol', decision: 'Approved', observedGeneration: 1, observedUID: 'uid-1' }

export const roleAssignmentCases: KindCases = {
  kind: 'RoleAssignment',
  smallest: () =>
    written('RoleAssignment', 'alice-reader', {
      realmRef: { name: 'shop' },
      subject: { kind: 'User', name: 'alice' },
      roles: ['reader'],
      requestedBy: 'bob',
    }),
  valid: () =>
    written(
      'RoleAssignment',
      'alice-reader',
      {
        realmRef: { name: 'shop', namespace: 'platform' },
        subject: { kind: 'User', name: 'alice' },
        roles: ['reader', 'svc-realm-admin', '_svc_dob.selfencrypt'],
        reason: 'She asked.\nTwice.',
        requestedBy: 'bob',
        submittedBy: 'system:serviceaccount:argocd:argocd',
        formerRequesters: ['carol', 'dave'],
        expiresAt: '2030-01-01T00:00:00Z',
      },
      {
        observedGeneration: 1,
        approvals: [{ ...approval, comment: 'fine', decidedAt: '2030-01-01T00:00:00Z' }],
        granted: {
          generation: 2,
          resolvedAt: '2030-01-01T00:00:00Z',
          realmUID: 'uid-2',
          subjectUID: 'uid-3',
          sub: 'uid-3',
          listedRoles: ['writer'],
          roles: ['reader', 'writer'],
          expiresAt: '2030-01-01T00:00:00Z',
          durationSeconds: 60,
          requiredApprovals: 1,
          outcome: 'Denied',
          startsOver: 'DecisionUnproven',
          uncounted: [{ approver: 'dave', generation: 1, reason: 'DecidedTooEarly' }],
          serving: {
            generation: 1,
            realmUID: 'uid-2',
            subjectUID: 'uid-3',
            sub: 'uid-3',
            roles: ['reader'],
            grantedAt: '2030-01-01T00:00:00Z',
            expiresAt: '2030-01-01T00:00:00Z',
            governed: true,
            approvers: ['carol'],
            paused: false,
          },
        },
        conditions: [
          { ...condition },
          {
            type: 'Approved',
            status: 'True',
            reason: 'Fine',
            decidedBy: 'carol',
            observedGeneration: 1,
            observedUID: 'u',
          },
        ],
      },
    ),
  alsoValid: [
    {
      name: 'every user of the realm',
      change: (o) => (o.spec.subject = { kind: 'Group', name: 'default-roles-shop' }),
    },
    {
      name: 'a duration',
      change: (o) => {
        delete o.spec.expiresAt
        o.spec.durationSeconds = 3600
      },
    },
  ],
  invalid: [
    ...commonInvalid,
    ...realmRefInvalid,
    { name: 'no subject', breakIt: (o) => delete o.spec.subject, path: 'spec.subject', message: /is required/ },
    { name: 'no roles', breakIt: (o) => (o.spec.roles = []), path: 'spec.roles', message: /fewer than 1 item/ },
    {
      name: 'a duplicate role',
      breakIt: (o) => (o.spec.roles = ['reader', 'reader']),
      path: 'spec.roles[1]',
      message: /is equal to item/,
    },
    {
      name: 'the role of all users',
      breakIt: (o) => (o.spec.roles = ['default-roles-shop']),
      path: 'spec.roles[0]',
      message: /cannot be assigned/,
    },
    {
      name: 'no requester',
      breakIt: (o) => delete o.spec.requestedBy,
      path: 'spec.requestedBy',
      message: /is required/,
    },
    {
      name: 'a requester of 513 characters',
      breakIt: (o) => (o.spec.requestedBy = 'a'.repeat(513)),
      path: 'spec.requestedBy',
      message: /longer than 512/,
    },
    {
      name: '17 former requesters',
      breakIt: (o) => (o.spec.formerRequesters = Array.from({ length: 17 }, (_, n) => `user-${n}`)),
      path: 'spec.formerRequesters',
      message: /16/,
    },
    {
      name: 'the same former requester twice',
      breakIt: (o) => (o.spec.formerRequesters = ['carol', 'carol']),
      path: 'spec.formerRequesters[1]',
      message: /is equal to item 0/,
    },
    {
      name: 'an escape sequence in the reason',
      breakIt: (o) => (o.spec.reason = '\u001b[2K'),
      path: 'spec.reason',
      message: /does not match/,
    },
    {
      name: 'another group',
      breakIt: (o) => (o.spec.subject = { kind: 'Group', name: 'admins' }),
      path: 'spec.subject.name',
      message: /the only Group/,
    },
    {
      name: 'another kind of subject',
      breakIt: (o) => (o.spec.subject.kind = 'ServiceAccount'),
      path: 'spec.subject.kind',
      message: /one of User, Group/,
    },
    {
      name: 'both an end and a duration',
      breakIt: (o) => (o.spec.durationSeconds = 60),
      path: 'spec.durationSeconds',
      message: /only one of expiresAt and durationSeconds/,
    },
    {
      name: 'a decision with an empty approver',
      breakIt: (o) => (o.status.approvals[0].approver = ''),
      path: 'status.approvals[0].approver',
      message: /is empty/,
    },
    {
      name: 'a decision without observedUID',
      breakIt: (o) => delete o.status.approvals[0].observedUID,
      path: 'status.approvals[0].observedUID',
      message: /is required/,
    },
    {
      name: 'a decision on generation 0',
      breakIt: (o) => (o.status.approvals[0].observedGeneration = 0),
      path: 'status.approvals[0].observedGeneration',
      message: /less than 1/,
    },
    {
      name: 'another decision',
      breakIt: (o) => (o.status.approvals[0].decision = 'Perhaps'),
      path: 'status.approvals[0].decision',
      message: /one of Approved, Denied/,
    },
    {
      name: 'two entries of one approver',
      breakIt: (o) => o.status.approvals.push({ ...approval, decision: 'Denied' }),
      path: 'status.approvals[1]',
      message: /the same approver/,
    },
    {
      name: '17 entries',
      breakIt: (o) =>
        (o.status.approvals = Array.from({ length: 17 }, (_, index) => ({ ...approval, approver: `a${index}` }))),
      path: 'status.approvals',
      message: /more than 16/,
    },
    {
      name: 'row 106: a condition without reason',
      breakIt: (o) => (o.status.conditions[1].reason = ''),
      path: 'status.conditions[1].reason',
      message: /is empty|does not match/,
    },
  ],
  updates: [
    ...realmRefUpdates,
    {
      name: 'row 92: another subject',
      stored: () => {},
      written: (o) => (o.spec.subject.name = 'bob'),
      path: 'spec.subject',
      message: /immutable/,
    },
    { name: 'other roles', stored: () => {}, written: (o) => (o.spec.roles = ['writer']) },
  ],
}
