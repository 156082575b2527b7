import { describe, expect, test } from 'vitest'
import { eventOf } from '../../../operator/role_assignment/audit.ts'
import { after, approve, deny, edit, entry, pass, reconcile, verdict, world } from './world.ts'
import type { World } from './world.ts'

/** Steps, each followed by a reconcile and what it must answer: `reason: roles served`. */
type Step = [what: string, act: (world: World) => void, verdict: string]

const MANAGER = 'editor manager viewer'
const nothing = () => {}
const governance = (change: Partial<World['realm']['governance']>) => (w: World) => {
  w.realm = { ...w.realm, governance: { ...w.realm.governance, ...change } }
}
const composites =
  (role: string, ...parts: string[]) =>
  (w: World) => {
    w.realm = {
      ...w.realm,
      roles: w.realm.roles.map((old) => (old.name === role ? { name: role, composites: parts } : old)),
    }
  }
const undefine = (role: string) => (w: World) => {
  w.realm = { ...w.realm, roles: w.realm.roles.filter(({ name }) => name !== role) }
}
const define = (role: string) => (w: World) => {
  w.realm = { ...w.realm, roles: [...w.realm.roles, { name: role }] }
}
const enforcement =
  (mode: World['enforcement']['mode'], required = true) =>
  (w: World) => {
    w.enforcement = { mode, required }
  }
const otherUser = (w: World) => (w.user = { uid: 'user-2', sub: 'sub-2', realmUid: w.realm.uid })
const otherRealm = (w: World) => {
  w.realm = { ...w.realm, uid: 'realm-2' }
  if (w.user) w.user = { ...w.user, realmUid: 'realm-2' }
}
const missing = (w: World) => (w.refused = { admitted: false, reason: 'RealmNotFound', message: 'no Realm acme/acme' })
const back = (w: World) => (w.refused = undefined)

function playSteps(steps: Step[], seen = world()): World {
  for (const [what, act, expected] of steps) {
    act(seen)
    expect(verdict(reconcile(seen)), what).toBe(expected)
  }
  return seen
}

const GRANTED: Step[] = [
  ['asked', nothing, 'PendingApproval:'],
  ['approved', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`],
]

describe('row 107: editing an approved spec', () => {
  test('roles still listed stay, removed roles are revoked at once, added roles wait', () => {
    playSteps([
      ['asked', (w) => edit(w, { roles: ['editor', 'auditor'] }), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), 'Granted: auditor editor viewer'],
      [
        'auditor goes, manager comes',
        (w) => edit(w, { roles: ['editor', 'manager'] }),
        'PendingApproval: editor viewer',
      ],
      [
        'an old approval is not used again',
        (w) => entry(w, 'bob', { observedGeneration: 2 }),
        'PendingApproval: editor viewer',
      ],
      ['approved', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`],
    ])
  })

  test('composites of a removed role are revoked with it, unless they are listed', () => {
    const seen = playSteps([
      ...GRANTED,
      ['only a part is listed now', (w) => edit(w, { roles: ['viewer'] }), 'Granted: viewer'],
      ['another role brings nothing', (w) => edit(w, { roles: ['auditor'] }), 'PendingApproval:'],
    ])
    expect(reconcile(seen).granted).not.toHaveProperty('serving')
  })

  test('a role that merely has a granted role as composite does not keep it', () => {
    playSteps([
      ['asked', (w) => edit(w, { roles: ['viewer'] }), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), 'Granted: viewer'],
      ['the manager reaches it', (w) => edit(w, { roles: ['manager'] }), 'PendingApproval:'],
    ])
  })

  test('an edit that requests nothing more needs no decision', () => {
    const seen = playSteps([...GRANTED, ['the reason', (w) => edit(w, {}), `Granted: ${MANAGER}`]])
    expect(reconcile(seen).ready.message).toContain('approved by bob (generation 1)')
  })

  test('the message separates granted roles from roles that wait', () => {
    const seen = playSteps([
      ...GRANTED,
      ['more', (w) => edit(w, { roles: ['auditor', 'manager'] }), `PendingApproval: ${MANAGER}`],
    ])
    expect(reconcile(seen).ready.message).toBe(
      '0 of 1 approval; waiting for 1 more; requested by carol, who cannot decide; not yet granted: auditor; ' +
        'granted: editor, manager, viewer',
    )
  })

  test('row 108: edit back: roles granted just before stay, the rest needs a new decision', () => {
    playSteps([
      ['asked', (w) => edit(w, { roles: ['auditor', 'viewer'] }), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), 'Granted: auditor viewer'],
      ['auditor goes', (w) => edit(w, { roles: ['viewer'] }), 'Granted: viewer'],
      ['and is asked for again', (w) => edit(w, { roles: ['auditor', 'viewer'] }), 'PendingApproval: viewer'],
      ['and approved', (w) => approve(w, 'bob'), 'Granted: auditor viewer'],
    ])
  })

  test('an unknown role blocks new roles, not granted ones', () => {
    playSteps([
      ...GRANTED,
      ['a typo is added', (w) => edit(w, { roles: ['manager', 'nosuch'] }), `RoleNotFound: ${MANAGER}`],
      ['an approval comes too early', (w) => approve(w, 'bob'), `RoleNotFound: ${MANAGER}`],
      ['then the role is there', define('nosuch'), `DecidedTooEarly: ${MANAGER}`],
    ])
  })

  test('row 111: a change of metadata is no new generation and changes nothing', () => {
    const seen = playSteps(GRANTED)
    const before = reconcile(seen)
    expect(reconcile(seen)).toEqual(before)
  })
})

describe('time', () => {
  const until = (seconds: number) => ({ expiresAt: after(seconds), durationSeconds: undefined })

  test('a grant expires, and its approvals do not renew it', () => {
    const seen = playSteps([
      ['asked for a minute', (w) => edit(w, { durationSeconds: 60 }), 'PendingApproval:'],
      ['waits an hour', (w) => pass(w, 3600), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`],
      ['a second before the end', (w) => pass(w, 59), `Granted: ${MANAGER}`],
      ['at the end', (w) => pass(w, 1), 'Expired:'],
      ['an hour later', (w) => pass(w, 3600), 'Expired:'],
      ['a further approval', (w) => approve(w, 'dave'), 'Expired:'],
      ['asked again', (w) => edit(w, {}), 'PendingApproval:'],
      ['approved again', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`],
    ])
    expect(seen.audit.filter(({ action }) => action === 'roles_expired')).toHaveLength(1)
  })

  test('an earlier expiry takes effect at once, a later one waits for a decision', () => {
    const ends = (w: World) => reconcile(w).roles.map(({ expiresAt }) => expiresAt?.toISOString() ?? 'never')
    const seen = playSteps([
      ['until ten', (w) => edit(w, { roles: ['viewer'], ...until(10) }), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), 'Granted: viewer'],
    ])
    expect(ends(seen)).toEqual([after(10)])
    playSteps([['nearer', (w) => edit(w, until(5)), 'Granted: viewer']], seen)
    expect(ends(seen)).toEqual([after(5)])
    playSteps([['later', (w) => edit(w, until(20)), 'PendingApproval: viewer']], seen)
    expect(ends(seen)).toEqual([after(5)])
    playSteps([['edited back to what was approved', (w) => edit(w, until(10)), 'PendingApproval: viewer']], seen)
    expect(ends(seen)).toEqual([after(5)])
    playSteps([['no end', (w) => edit(w, { expiresAt: undefined }), 'PendingApproval: viewer']], seen)
    expect(ends(seen)).toEqual([after(5)])
    playSteps([['the present one ends while the new one waits', (w) => pass(w, 5), 'PendingApproval:']], seen)
    playSteps([['approved', (w) => approve(w, 'bob'), 'Granted: viewer']], seen)
    expect(ends(seen)).toEqual(['never'])
  })

  test('the audit records a longer time for the same roles, and an expiry that no reconcile saw', () => {
    const seen = playSteps([
      ['until ten', (w) => edit(w, until(10)), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`],
      ['until twenty', (w) => edit(w, until(20)), `PendingApproval: ${MANAGER}`],
      ['approved', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`],
    ])
    expect(seen.audit.at(-1)).toMatchObject({ action: 'roles_granted', details: { expiresAt: after(20) } })
    playSteps(
      [
        ['no realm', missing, 'RealmNotFound:'],
        ['the end', (w) => pass(w, 20), 'RealmNotFound:'],
      ],
      seen,
    )
    expect(seen.audit.at(-1)).toMatchObject({ action: 'roles_expired' })
  })

  test('a duration counts from the grant, also across edits that keep it', () => {
    const seen = playSteps([
      ['asked', (w) => edit(w, { roles: ['auditor', 'viewer'], durationSeconds: 100 }), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), 'Granted: auditor viewer'],
      ['fifty later one role goes', (w) => (pass(w, 50), edit(w, { roles: ['viewer'] })), 'Granted: viewer'],
      ['and after a hundred all', (w) => pass(w, 50), 'Expired:'],
      ['for good', (w) => pass(w, 50), 'Expired:'],
    ])
    expect(seen.audit.at(-2)?.action ?? '').toBe('roles_revoked')
    expect(seen.audit.at(-1)?.action).toBe('roles_expired')
  })

  test('an undecided request times out for its generation', () => {
    const seen = playSteps([
      ['asked', governance({ pendingTimeoutSeconds: 60 }), 'PendingApproval:'],
      ['a second before', (w) => pass(w, 59), 'PendingApproval:'],
      ['in time', (w) => pass(w, 1), 'Expired:'],
      ['an approval comes too late', (w) => approve(w, 'bob'), 'Expired:'],
      ['a longer timeout changes nothing', governance({ pendingTimeoutSeconds: 600 }), 'Expired:'],
      ['no timeout neither', governance({ pendingTimeoutSeconds: undefined }), 'Expired:'],
      ['asked again', (w) => edit(w, {}), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`],
    ])
    expect(seen.audit.filter(({ action }) => action === 'roles_expired')).toHaveLength(1)
  })

  test('an edit that requests nothing more does not time out', () => {
    playSteps([
      ['asked', governance({ pendingTimeoutSeconds: 60 }), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`],
      ['the reason', (w) => edit(w, {}), `Granted: ${MANAGER}`],
      ['much later', (w) => pass(w, 3600), `Granted: ${MANAGER}`],
    ])
    const seen = playSteps([
      ['off', governance({ pendingTimeoutSeconds: 60, enabled: false }), `GrantedUngoverned: ${MANAGER}`],
      ['on', governance({ pendingTimeoutSeconds: 60, enabled: true }), `GrantedUngoverned: ${MANAGER}`],
      ['much later', (w) => pass(w, 3600), `GrantedUngoverned: ${MANAGER}`],
    ])
    expect(reconcile(seen)).not.toHaveProperty('requeueAt')
  })

  test('a timed-out edit keeps the grant', () => {
    playSteps([
      ['asked', governance({ pendingTimeoutSeconds: 60 }), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`],
      ['much later', (w) => pass(w, 3600), `Granted: ${MANAGER}`],
      ['more', (w) => edit(w, { roles: ['manager', 'auditor'] }), `PendingApproval: ${MANAGER}`],
      ['undecided', (w) => pass(w, 60), `Expired: ${MANAGER}`],
      ['late', (w) => approve(w, 'bob'), `Expired: ${MANAGER}`],
      ['but a denial is never late', (w) => deny(w, 'dave'), 'Denied:'],
    ])
  })

  test('the result names the time when it changes by itself', () => {
    const seen = playSteps([['asked', governance({ pendingTimeoutSeconds: 60 }), 'PendingApproval:']])
    expect(reconcile(seen).requeueAt?.toISOString()).toBe(after(60))
    edit(seen, until(30))
    expect(reconcile(seen).requeueAt?.toISOString()).toBe(after(30))
    approve(seen, 'bob')
    expect(reconcile(seen).requeueAt?.toISOString()).toBe(after(30))
    pass(seen, 30)
    expect(reconcile(seen)).not.toHaveProperty('requeueAt')
  })
})

describe('Denied', () => {
  test('wins over approvals, ends the grant, and only an edit reverses it', () => {
    playSteps([
      ...GRANTED,
      ['the approver thinks again', (w) => deny(w, 'bob'), 'Denied:'],
      ['and again', (w) => approve(w, 'bob'), 'Denied:'],
      ['others approve', (w) => approve(w, 'dave', 'erin'), 'Denied:'],
      ['the entries go', (w) => (w.decisions = []), 'Denied:'],
      ['governance is disabled', governance({ enabled: false }), 'Denied:'],
      ['and enabled', governance({ enabled: true }), 'Denied:'],
      ['an edit asks again', (w) => edit(w, {}), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'dave'), `Granted: ${MANAGER}`],
    ])
  })

  test('also ends the grant of an earlier generation', () => {
    playSteps([
      ...GRANTED,
      ['the reason is edited', (w) => edit(w, {}), `Granted: ${MANAGER}`],
      ['and that is denied', (w) => deny(w, 'dave'), 'Denied:'],
      ['edited back', (w) => edit(w, {}), 'PendingApproval:'],
    ])
  })

  test('counts also when an edit follows before a reconcile', () => {
    playSteps([
      ...GRANTED,
      ['denied, and edited before it is seen', (w) => (deny(w, 'bob'), edit(w, {})), 'PendingApproval:'],
      ['nothing comes back', nothing, 'PendingApproval:'],
    ])
  })

  test('of an earlier generation does not end a later grant', () => {
    playSteps([
      [
        'denied as a condition, which stays there',
        (w) => entry(w, 'dave', { form: 'condition', decision: 'Denied' }),
        'Denied:',
      ],
      ['asked again', (w) => edit(w, {}), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`],
      ['and later', (w) => pass(w, 10), `Granted: ${MANAGER}`],
    ])
  })

  test('on another uid ends nothing', () => {
    const former = { form: 'condition', decision: 'Denied', observedUID: 'assignment-0' } as const
    playSteps([
      ...GRANTED,
      ['a former one was denied', (w) => entry(w, 'dave', former), `Granted: ${MANAGER}`],
      ['edited', (w) => edit(w, {}), `Granted: ${MANAGER}`],
    ])
  })

  test('counts while realm, subject or role is missing', () => {
    playSteps([
      ['no user', (w) => (w.user = undefined), 'SubjectNotFound:'],
      ['denied', (w) => deny(w, 'bob'), 'Denied:'],
      ['the user is there', (w) => (w.user = world().user), 'Denied:'],
    ])
    const seen = playSteps([
      ...GRANTED,
      ['no realm', missing, 'RealmNotFound:'],
      ['denied', (w) => deny(w, 'bob'), 'RealmNotFound:'],
      ['the denial is gone, the realm is there', (w) => (back(w), (w.decisions = [])), 'Denied:'],
    ])
    expect(seen.recorded).toEqual([expect.objectContaining({ approver: 'bob', decision: 'Approved' })])
  })
})

describe('the quorum', () => {
  test('a raised quorum takes effect at once, a lowered one for new generations', () => {
    playSteps([
      ['two are needed', governance({ requiredApprovals: 2 }), 'PendingApproval:'],
      ['one', (w) => approve(w, 'bob'), 'QuorumNotReached:'],
      ['lowered to one', governance({ requiredApprovals: 1 }), 'QuorumNotReached:'],
      ['raised to three', governance({ requiredApprovals: 3 }), 'QuorumNotReached:'],
      ['two', (w) => approve(w, 'dave'), 'QuorumNotReached:'],
      ['lowered to two', governance({ requiredApprovals: 2 }), 'QuorumNotReached:'],
      ['three', (w) => approve(w, 'erin'), `Granted: ${MANAGER}`],
      ['grants made stay', governance({ requiredApprovals: 16 }), `Granted: ${MANAGER}`],
      ['also through an edit that asks for nothing more', (w) => edit(w, {}), `Granted: ${MANAGER}`],
      ['more', (w) => edit(w, { roles: ['manager', 'auditor'] }), `PendingApproval: ${MANAGER}`],
      ['lowered', governance({ requiredApprovals: 1 }), `PendingApproval: ${MANAGER}`],
      ['one of sixteen', (w) => approve(w, 'bob'), `QuorumNotReached: ${MANAGER}`],
      ['asked again, one is enough', (w) => edit(w, {}), `PendingApproval: ${MANAGER}`],
      ['one', (w) => approve(w, 'bob'), `Granted: auditor ${MANAGER}`],
    ])
  })

  test('counts approvals of one generation only', () => {
    playSteps([
      ['two are needed', governance({ requiredApprovals: 2 }), 'PendingApproval:'],
      ['one', (w) => approve(w, 'bob'), 'QuorumNotReached:'],
      ['edited', (w) => edit(w, {}), 'PendingApproval:'],
      ['another', (w) => approve(w, 'dave'), 'QuorumNotReached:'],
      ['the first again', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`],
    ])
  })

  test('row 113: the past decisions of an approver who leaves stay', () => {
    playSteps([
      ['two are needed', governance({ requiredApprovals: 2 }), 'PendingApproval:'],
      ['one', (w) => approve(w, 'bob'), 'QuorumNotReached:'],
      ['whose entry goes', (w) => (w.decisions = []), 'QuorumNotReached:'],
      ['another', (w) => approve(w, 'dave'), `Granted: ${MANAGER}`],
    ])
  })
})

describe('row 112: roles change in the realm', () => {
  test('added composites wait for a decision, removed composites are revoked at once', () => {
    const seen = playSteps([
      ...GRANTED,
      ['the editor audits as well', composites('editor', 'viewer', 'auditor'), `Granted: ${MANAGER}`],
    ])
    expect(reconcile(seen).ready.message).toContain('the realm added auditor after the request, without a decision')
    playSteps(
      [
        ['asked again', (w) => edit(w, {}), `PendingApproval: ${MANAGER}`],
        ['approved', (w) => approve(w, 'bob'), `Granted: auditor ${MANAGER}`],
        ['no manager edits', composites('manager', 'viewer'), 'Granted: manager viewer'],
        ['they do again', composites('manager', 'viewer', 'editor'), 'Granted: manager viewer'],
      ],
      seen,
    )
  })

  test('a composite added while a request waits is not covered', () => {
    playSteps([
      ['asked', nothing, 'PendingApproval:'],
      ['widened', composites('manager', 'editor', 'viewer', 'auditor'), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`],
    ])
  })

  test('a composite removed while a request waits is not granted', () => {
    playSteps([
      ['asked', nothing, 'PendingApproval:'],
      ['narrowed', composites('manager', 'viewer'), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), 'Granted: manager viewer'],
    ])
  })

  test('a listed role removed from the realm while a request waits needs a new generation', () => {
    const seen = playSteps([
      ['asked', (w) => edit(w, { roles: ['auditor', 'viewer'] }), 'PendingApproval:'],
      ['auditor is gone', undefine('auditor'), 'RoleNotFound:'],
      ['another auditor comes', define('auditor'), 'PendingApproval:'],
    ])
    expect(reconcile(seen).ready.message).toContain('added to the realm after the request: auditor: edit spec')
    playSteps([['approved', (w) => approve(w, 'bob'), 'PendingApproval: viewer']], seen)
  })

  test('a listed role removed from the realm is revoked at once and not restored when it is defined again', () => {
    const seen = playSteps([
      ['asked', (w) => edit(w, { roles: ['auditor', 'viewer'] }), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), 'Granted: auditor viewer'],
      ['auditor is gone', undefine('auditor'), 'RoleNotFound: viewer'],
      ['another auditor comes', define('auditor'), 'PendingApproval: viewer'],
      ['a further approval of the same generation', (w) => approve(w, 'dave'), 'PendingApproval: viewer'],
    ])
    expect(reconcile(seen).ready.message).toContain(
      'removed from the realm after the approval and added again: auditor; edit spec',
    )
    playSteps(
      [
        ['asked again', (w) => edit(w, {}), 'PendingApproval: viewer'],
        ['approved', (w) => approve(w, 'dave'), 'Granted: auditor viewer'],
      ],
      seen,
    )
  })

  test('a role of an encrypted field ends with the field', () => {
    playSteps([
      ['asked', (w) => edit(w, { roles: ['_svc_dob.selfdecrypt'] }), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), 'Granted: _svc_dob.selfdecrypt'],
      ['the field is removed', (w) => (w.realm = { ...w.realm, fieldRoles: [] }), 'RoleNotFound:'],
      ['and comes back', (w) => (w.realm = world().realm), 'PendingApproval:'],
    ])
  })
})

describe('another object under the same name', () => {
  test('a re-created subject starts from an empty state', () => {
    playSteps([
      ...GRANTED,
      ['another alice', otherUser, 'SubjectReplaced:'],
      ['an approval of the same generation', (w) => approve(w, 'dave'), 'SubjectReplaced:'],
      ['asked again', (w) => edit(w, {}), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'dave'), `Granted: ${MANAGER}`],
    ])
  })

  test('the same uid with another sub is another subject', () => {
    playSteps([...GRANTED, ['another sub', (w) => (w.user = { ...w.user!, sub: 'sub-2' }), 'SubjectReplaced:']])
  })

  test('a subject re-created while a request waits', () => {
    playSteps([
      ['asked', nothing, 'PendingApproval:'],
      ['another alice', otherUser, 'SubjectReplaced:'],
      ['approved by an account who saw the first', (w) => approve(w, 'bob'), 'SubjectReplaced:'],
    ])
  })

  test('a subject re-created and a spec edited before a reconcile', () => {
    playSteps([...GRANTED, ['both at once', (w) => (otherUser(w), edit(w, {})), 'PendingApproval:']])
  })

  test('a subject re-created with the fixed sub of the former one', () => {
    playSteps([...GRANTED, ['another uid', (w) => (w.user = { ...w.user!, uid: 'user-2' }), 'SubjectReplaced:']])
  })

  test('the audit names which of the two was replaced', () => {
    const causes = ({ audit }: World) => audit.map(({ details }) => details['cause']).filter(Boolean)
    expect(causes(playSteps([...GRANTED, ['another alice', otherUser, 'SubjectReplaced:']]))).toEqual([
      'SubjectReplaced',
    ])
    expect(causes(playSteps([...GRANTED, ['another realm', otherRealm, 'RealmReplaced:']]))).toEqual(['RealmReplaced'])
  })

  test('decisions for the former realm do not count for a re-created realm', () => {
    playSteps([
      ...GRANTED,
      ['another realm', otherRealm, 'RealmReplaced:'],
      ['an approval of the same generation', (w) => approve(w, 'dave'), 'RealmReplaced:'],
      ['asked again', (w) => edit(w, {}), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'dave'), `Granted: ${MANAGER}`],
    ])
  })

  test('a realm re-created while the user is missing', () => {
    playSteps([
      ...GRANTED,
      ['no realm', missing, 'RealmNotFound:'],
      ['another realm, without users', (w) => (back(w), otherRealm(w), (w.user = undefined)), 'SubjectNotFound:'],
      ['the user', (w) => otherUser(w), 'RealmReplaced:'],
    ])
  })

  test('row 110: an assignment re-created, or restored with its old status', () => {
    playSteps([
      ...GRANTED,
      [
        'restored: another uid, everything else as it was, the row is the former one’s',
        (w) => {
          w.assignment = { ...w.assignment, uid: 'assignment-2' }
          w.row = undefined
          w.status = undefined
        },
        'PendingApproval:',
      ],
      ['approved', (w) => approve(w, 'dave'), `Granted: ${MANAGER}`],
    ])
  })

  test('without governance a re-created subject is granted again', () => {
    const seen = playSteps([
      ['ungoverned', governance({ enabled: false }), `GrantedUngoverned: ${MANAGER}`],
      ['another alice', otherUser, `GrantedUngoverned: ${MANAGER}`],
    ])
    expect(reconcile(seen).grantee).toEqual({ kind: 'User', subject: 'sub-2' })
    playSteps(
      [
        ['governed', governance({ enabled: true }), `GrantedUngoverned: ${MANAGER}`],
        ['yet another', (w) => (w.user = { uid: 'user-3', sub: 'sub-3', realmUid: 'realm-1' }), 'SubjectReplaced:'],
      ],
      seen,
    )
  })

  test('approvals made for the former subject do not confirm a grant to the next one', () => {
    playSteps([
      ['ungoverned', governance({ enabled: false, requiredApprovals: 2 }), `GrantedUngoverned: ${MANAGER}`],
      ['one approves all the same', (w) => approve(w, 'bob'), `GrantedUngoverned: ${MANAGER}`],
      ['another alice', otherUser, `GrantedUngoverned: ${MANAGER}`],
      ['governed', governance({ enabled: true }), `GrantedUngoverned: ${MANAGER}`],
      ['a second approval', (w) => approve(w, 'dave'), `GrantedUngoverned: ${MANAGER}`],
    ])
  })
})

describe('a reference that is missing for a while', () => {
  test('nothing is served meanwhile, and the grant stays stored', () => {
    const seen = playSteps([
      ...GRANTED,
      ['the realm is away', missing, 'RealmNotFound:'],
      ['and back', back, `Granted: ${MANAGER}`],
      ['the user is away', (w) => (w.user = undefined), 'SubjectNotFound:'],
      ['and back', (w) => (w.user = world().user), `Granted: ${MANAGER}`],
    ])
    const actions = seen.audit.map(({ action }) => action)
    expect(actions.filter((action) => action === 'roles_revoked')).toHaveLength(2)
    expect(actions.filter((action) => action === 'roles_granted')).toHaveLength(3)
  })

  test('a grant that expires meanwhile has ended', () => {
    playSteps([
      ['asked', (w) => edit(w, { durationSeconds: 60 }), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`],
      ['the realm is away', missing, 'RealmNotFound:'],
      ['the time passes', (w) => pass(w, 60), 'RealmNotFound:'],
      ['the realm is back', back, 'Expired:'],
    ])
  })

  test('a namespace that is no longer admitted loses its roles', () => {
    playSteps([
      ...GRANTED,
      [
        'narrowed',
        (w) => (w.refused = { admitted: false, reason: 'NamespaceNotAllowed', message: 'no' }),
        'NamespaceNotAllowed:',
      ],
    ])
  })
})

describe('a decision before realm, subject and roles resolve', () => {
  test.each<[string, (world: World) => void, (world: World) => void, string]>([
    ['the realm', missing, back, 'RealmNotFound:'],
    ['the user', (w) => (w.user = undefined), (w) => (w.user = world().user), 'SubjectNotFound:'],
    ['a role', undefine('manager'), (w) => (w.realm = world().realm), 'RoleNotFound:'],
  ])('is void where %s comes later', (_, take, give, reason) => {
    playSteps([
      ['not all is there', take, reason],
      ['approved', (w) => approve(w, 'bob'), reason],
      ['now all is there', give, 'DecidedTooEarly:'],
      [
        'the same approver again',
        (w) => (approve(w, 'bob'), entry(w, 'BOB', { form: 'condition' })),
        'DecidedTooEarly:',
      ],
      ['status is emptied and written again', (w) => ((w.decisions = []), approve(w, 'bob')), 'DecidedTooEarly:'],
      ['asked again', (w) => edit(w, {}), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`],
    ])
  })

  test('does not count; later approvers decide', () => {
    playSteps([
      ['no user', (w) => (w.user = undefined), 'SubjectNotFound:'],
      ['approved', (w) => approve(w, 'bob'), 'SubjectNotFound:'],
      ['the user', (w) => (w.user = world().user), 'DecidedTooEarly:'],
      ['another approver', (w) => approve(w, 'dave'), `Granted: ${MANAGER}`],
    ])
  })

  test('counts when the same reconcile first sees them', () => {
    playSteps([['all at once', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`]])
  })

  test('a decision on the next generation does not count later', () => {
    const ahead = (w: World) => entry(w, 'bob', { form: 'condition', observedGeneration: 2 })
    playSteps([
      ['asked', nothing, 'PendingApproval:'],
      ['approved ahead', ahead, 'PendingApproval:'],
      ['its generation comes', (w) => edit(w, { roles: ['auditor'] }), 'DecidedTooEarly:'],
    ])
  })

  test('a decision while a reference is missing again waits until it is back', () => {
    const seen = playSteps([
      ['asked', nothing, 'PendingApproval:'],
      ['no user', (w) => (w.user = undefined), 'SubjectNotFound:'],
      ['approved', (w) => approve(w, 'bob'), 'SubjectNotFound:'],
    ])
    expect(seen.recorded).toEqual([])
    playSteps([['the user', (w) => (w.user = world().user), `Granted: ${MANAGER}`]], seen)
  })

  test('with more of them than can be stored, no approval counts', () => {
    const seen = playSteps([['no user', (w) => (w.user = undefined), 'SubjectNotFound:']])
    for (let round = 0; round < 5; round++) {
      seen.decisions = []
      approve(seen, ...Array.from({ length: 16 }, (_, n) => `approver-${round}-${n}`))
      reconcile(seen)
    }
    seen.user = world().user
    seen.decisions = []
    playSteps([['a fresh approver', (w) => approve(w, 'bob'), 'DecidedTooEarly:']], seen)
  })
})

describe('governance enabled or disabled later', () => {
  test('enabled: earlier grants stay, marked; added roles wait', () => {
    playSteps([
      ['off', governance({ enabled: false }), `GrantedUngoverned: ${MANAGER}`],
      ['on', governance({ enabled: true }), `GrantedUngoverned: ${MANAGER}`],
      ['widened', composites('manager', 'editor', 'viewer', 'auditor'), `GrantedUngoverned: ${MANAGER}`],
      ['more', (w) => edit(w, { roles: ['manager', 'auditor'] }), `PendingApproval: ${MANAGER}`],
      ['approved', (w) => approve(w, 'bob'), `Granted: auditor ${MANAGER}`],
    ])
  })

  test('enabled: a quorum confirms an earlier grant without more time', () => {
    const seen = playSteps([
      [
        'off',
        (w) => (governance({ enabled: false })(w), edit(w, { durationSeconds: 60 })),
        `GrantedUngoverned: ${MANAGER}`,
      ],
      ['on', governance({ enabled: true }), `GrantedUngoverned: ${MANAGER}`],
      ['confirmed', (w) => (pass(w, 30), approve(w, 'bob')), `Granted: ${MANAGER}`],
    ])
    expect(reconcile(seen).roles[0]?.expiresAt?.toISOString()).toBe(after(60))
  })

  test('disabled: pending requests are granted, except roles that always need a decision', () => {
    playSteps([
      ['asked', nothing, 'PendingApproval:'],
      ['off', governance({ enabled: false }), `GrantedUngoverned: ${MANAGER}`],
    ])
    playSteps([
      ['asked', (w) => edit(w, { roles: ['viewer', 'svc-realm-admin'] }), 'PendingApproval:'],
      ['off', governance({ enabled: false }), 'PendingApproval:'],
    ])
  })

  test('disabled: composites follow the realm, an expiry stays', () => {
    playSteps([
      [
        'off',
        (w) => (governance({ enabled: false })(w), edit(w, { durationSeconds: 60 })),
        `GrantedUngoverned: ${MANAGER}`,
      ],
      [
        'widened',
        (w) => (pass(w, 30), composites('editor', 'viewer', 'auditor')(w)),
        `GrantedUngoverned: auditor ${MANAGER}`,
      ],
      ['a minute after the first grant', (w) => pass(w, 30), 'Expired:'],
    ])
  })

  test('disabled: adding a role that needs a decision keeps the grant', () => {
    playSteps([
      ['off', governance({ enabled: false }), `GrantedUngoverned: ${MANAGER}`],
      [
        'more',
        (w) => edit(w, { roles: ['manager', 'auditor', '_svc_dob.selfencrypt'] }),
        `PendingApproval: ${MANAGER}`,
      ],
      ['approved', (w) => approve(w, 'bob'), `Granted: _svc_dob.selfencrypt auditor ${MANAGER}`],
    ])
  })

  test('disabled: an edit that requests nothing more does not restart the duration', () => {
    playSteps([
      [
        'off',
        (w) => (governance({ enabled: false })(w), edit(w, { durationSeconds: 60 })),
        `GrantedUngoverned: ${MANAGER}`,
      ],
      ['edited', (w) => (pass(w, 30), edit(w, {})), `GrantedUngoverned: ${MANAGER}`],
      ['a minute after the grant', (w) => pass(w, 30), 'Expired:'],
    ])
  })

  test('disabled and enabled: an approved grant stays approved', () => {
    playSteps([
      ...GRANTED,
      ['off', governance({ enabled: false }), `Granted: ${MANAGER}`],
      ['on', governance({ enabled: true }), `Granted: ${MANAGER}`],
    ])
  })
})

describe('deleting', () => {
  test('revokes everything and grants nothing', () => {
    const seen = playSteps([
      ...GRANTED,
      ['deleted', (w) => (w.assignment = { ...w.assignment, deleting: true }), 'Deleting:'],
      ['approved', (w) => approve(w, 'dave'), 'Deleting:'],
    ])
    expect(seen.audit.at(-1)).toMatchObject({ action: 'roles_revoked', details: { cause: 'Deleted' } })
    expect(seen.recorded).toHaveLength(1)
  })
})

describe('lost state', () => {
  const emptied = (w: World) => ((w.status = undefined), (w.decisions = []))
  const noRows = (w: World) => (w.row = undefined)

  test('an emptied status revokes nothing', () => {
    const seen = playSteps([
      ['two are needed', governance({ requiredApprovals: 2 }), 'PendingApproval:'],
      ['one', (w) => approve(w, 'bob'), 'QuorumNotReached:'],
      ['emptied', emptied, 'QuorumNotReached:'],
      ['another', (w) => approve(w, 'dave'), `Granted: ${MANAGER}`],
    ])
    const notes = seen.audit.length
    playSteps([['emptied', emptied, `Granted: ${MANAGER}`]], seen)
    expect(seen.audit).toHaveLength(notes)
  })

  test('dropped rows are rebuilt from the status, without an audit row', () => {
    const seen = playSteps(GRANTED)
    const notes = seen.audit.length
    playSteps([['rows dropped', noRows, `Granted: ${MANAGER}`]], seen)
    expect(seen.audit).toHaveLength(notes)
  })

  test('dropped rows and an untrusted status grant nothing', () => {
    const seen = playSteps(GRANTED)
    seen.statusTrusted = false
    playSteps([['untrusted', noRows, 'DecisionUnproven:']], seen)

    const ungoverned = playSteps([['off', governance({ enabled: false }), `GrantedUngoverned: ${MANAGER}`]])
    ungoverned.statusTrusted = false
    playSteps([['untrusted', (w) => (noRows(w), governance({ enabled: true })(w)), 'PendingApproval:']], ungoverned)
  })

  test('a trusted status takes precedence over rows restored from a backup', () => {
    const seen = playSteps(GRANTED)
    const older = seen.row
    playSteps(
      [
        ['less', (w) => edit(w, { roles: ['viewer', 'auditor'] }), 'PendingApproval: viewer'],
        ['approved', (w) => approve(w, 'bob'), 'Granted: auditor viewer'],
        ['restored', (w) => ((w.row = older), w.recorded.pop(), (w.decisions = [])), 'Granted: auditor viewer'],
      ],
      seen,
    )
  })

  test('a recorded denial ends a grant in rows restored from a backup', () => {
    const seen = playSteps(GRANTED)
    const older = seen.row
    playSteps(
      [
        ['the reason', (w) => edit(w, {}), `Granted: ${MANAGER}`],
        ['denied', (w) => deny(w, 'dave'), 'Denied:'],
        [
          'restored, and edited',
          (w) => ((w.row = older), (w.statusTrusted = false), edit(w, {}), (w.decisions = [])),
          'PendingApproval:',
        ],
      ],
      seen,
    )
  })

  test('rows take precedence over a different status', () => {
    const seen = playSteps([['asked', nothing, 'PendingApproval:']])
    const forged = playSteps(GRANTED)
    seen.statusTrusted = false
    playSteps([['forged', (w) => (w.status = forged.status), 'PendingApproval:']], seen)
    seen.statusTrusted = true
    playSteps([['forged for this generation', (w) => (w.status = forged.status), 'PendingApproval:']], seen)
  })

  test('without stored state, recorded decisions do not count: what they covered is unknown', () => {
    playSteps([...GRANTED, ['lost', (w) => (emptied(w), noRows(w)), 'DecisionUnproven:']])
  })

  test.each([
    ['roles that exist', ['svc-realm-admin']],
    ['a role that does not exist', ['svc-realm-admin', 'nosuch']],
    ['a role that does not exist, among granted ones', ['viewer', 'auditor', 'nosuch']],
  ])('row 139: after a restore, admission does not take %s in a repeated generation for granted', (_, roles) => {
    // As in crds/policies/role_assignment_requests.yaml.
    const isGranted = ({ status, assignment }: World): boolean =>
      status?.generation === assignment.generation &&
      status.serving?.generation === assignment.generation &&
      !(status.resolvedAt !== undefined && status.startsOver) &&
      !status.serving.paused
    const seen = playSteps([
      ...GRANTED,
      ['edited', (w) => edit(w, { roles: ['viewer', 'auditor'] }), 'PendingApproval: viewer'],
      ['approved', (w) => approve(w, 'bob'), 'Granted: auditor viewer'],
    ])
    expect(isGranted(seen)).toBe(true)

    seen.assignment = { ...seen.assignment, generation: 1, roles: ['manager'] }
    reconcile(seen)
    expect(isGranted(seen)).toBe(false)
    edit(seen, { roles })
    expect(isGranted(seen), 'before the operator reconciles it').toBe(false)
    reconcile(seen)
    expect(isGranted(seen)).toBe(false)
  })

  test('a restored cluster that repeats generation numbers', () => {
    playSteps([
      ...GRANTED,
      ['edited', (w) => edit(w, { roles: ['viewer'] }), 'Granted: viewer'],
      ['approved', (w) => approve(w, 'bob'), 'Granted: viewer'],
      ['set back', (w) => (w.assignment = { ...w.assignment, generation: 1, roles: ['manager'] }), 'DecisionUnproven:'],
      ['an approval of that', (w) => approve(w, 'dave'), 'DecisionUnproven:'],
      [
        'generation 2 again, asking for more',
        (w) => edit(w, { roles: ['viewer', 'auditor'] }),
        'DecisionUnproven: viewer',
      ],
      ['a new approval', (w) => approve(w, 'dave'), 'DecisionUnproven: viewer'],
      ['a generation never seen', (w) => edit(w, {}), 'PendingApproval: viewer'],
      ['approved', (w) => approve(w, 'dave'), 'Granted: auditor viewer'],
    ])
    const lagging = playSteps([
      ...GRANTED,
      ['edited', (w) => edit(w, {}), `Granted: ${MANAGER}`],
      ['an older read', (w) => (w.assignment = { ...w.assignment, generation: 1 }), 'DecisionUnproven:'],
    ])
    expect(lagging.audit.at(-1)).toMatchObject({ action: 'roles_revoked', details: { cause: 'Unresolved' } })
    playSteps(
      [['and a present one', (w) => (w.assignment = { ...w.assignment, generation: 2 }), `Granted: ${MANAGER}`]],
      lagging,
    )
    playSteps([
      ...GRANTED,
      ['more', (w) => edit(w, { roles: ['manager', 'auditor'] }), `PendingApproval: ${MANAGER}`],
      ['approved', (w) => approve(w, 'bob'), `Granted: auditor ${MANAGER}`],
      ['set back', (w) => (w.assignment = { ...w.assignment, generation: 1 }), 'DecisionUnproven:'],
      ['and denied', (w) => deny(w, 'dave'), 'DecisionUnproven:'],
      ['edited, and edited', (w) => (edit(w, {}), edit(w, {})), 'PendingApproval:'],
    ])
    playSteps([
      ...GRANTED,
      [
        'set back and edited before a reconcile',
        (w) => (w.assignment = { ...w.assignment, roles: ['auditor'] }),
        'DecisionUnproven:',
      ],
    ])
  })
})

describe('row 114: policies removed and installed again, with forged decisions in between', () => {
  test('a decision first seen in the gap does not count after it', () => {
    playSteps([
      ['asked', nothing, 'PendingApproval:'],
      ['the gap begins', enforcement('gap'), 'ApprovalNotEnforced:'],
      ['forged', (w) => approve(w, 'bob'), 'ApprovalNotEnforced:'],
      ['it ends', enforcement('enforced'), 'DecisionUnproven:'],
      ['written again', (w) => entry(w, 'bob', { form: 'condition' }), 'DecisionUnproven:'],
      ['asked again', (w) => edit(w, {}), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`],
    ])
  })

  test('a decision forged for a later generation does not count when that generation comes', () => {
    const ahead = (w: World) => entry(w, 'bob', { form: 'condition', observedGeneration: 2 })
    playSteps([
      ['forged in the gap', (w) => (enforcement('gap')(w), ahead(w)), 'ApprovalNotEnforced:'],
      ['it ends', enforcement('enforced'), 'PendingApproval:'],
      ['and the author edits', (w) => edit(w, { roles: ['auditor'] }), 'DecidedTooEarly:'],
    ])
  })

  test('earlier grants stay, and roles removed by an edit are revoked', () => {
    playSteps([
      ...GRANTED,
      ['gap', enforcement('gap'), `Granted: ${MANAGER}`],
      ['less', (w) => edit(w, { roles: ['viewer'] }), 'Granted: viewer'],
      ['more', (w) => edit(w, { roles: ['viewer', 'auditor'] }), 'ApprovalNotEnforced: viewer'],
      ['approved', (w) => approve(w, 'bob'), 'ApprovalNotEnforced: viewer'],
      ['it ends', enforcement('enforced'), 'DecisionUnproven: viewer'],
      ['another approver', (w) => approve(w, 'dave'), 'Granted: auditor viewer'],
    ])
  })

  test('a quorum recorded before the gap counts after it', () => {
    playSteps([
      ['two are needed', governance({ requiredApprovals: 2 }), 'PendingApproval:'],
      ['one', (w) => approve(w, 'bob'), 'QuorumNotReached:'],
      ['gap', enforcement('gap'), 'ApprovalNotEnforced:'],
      ['over', enforcement('enforced'), 'QuorumNotReached:'],
      ['another', (w) => approve(w, 'dave'), `Granted: ${MANAGER}`],
    ])
  })

  test('a denial written in the gap denies, but is not recorded under its name', () => {
    const seen = playSteps([
      ...GRANTED,
      ['denied in the gap', (w) => (enforcement('gap')(w), deny(w, 'bob')), 'Denied:'],
      ['over', enforcement('enforced'), 'Denied:'],
      ['even gone', (w) => (w.decisions = []), 'Denied:'],
    ])
    expect(seen.recorded).toEqual([expect.objectContaining({ decision: 'Approved' })])
  })

  test('an unchecked decision waits, and counts after the check', () => {
    playSteps([
      ['asked', nothing, 'PendingApproval:'],
      ['not known', enforcement('unchecked'), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), 'PendingApproval:'],
      ['known', enforcement('enforced'), `Granted: ${MANAGER}`],
    ])
  })

  test('without required enforcement, approvals of a gap grant while it lasts and do not count later', () => {
    playSteps([
      [
        'two are needed',
        (w) => (governance({ requiredApprovals: 2 })(w), enforcement('gap', false)(w)),
        'PendingApproval:',
      ],
      ['one', (w) => approve(w, 'bob'), 'QuorumNotReached:'],
      ['over', enforcement('enforced', false), 'DecisionUnproven:'],
      ['a proven one', (w) => approve(w, 'dave'), 'DecisionUnproven:'],
    ])
    const seen = playSteps([
      ['gap', enforcement('gap', false), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`],
      ['grants made stay', enforcement('enforced', true), `Granted: ${MANAGER}`],
    ])
    expect(seen.recorded).toEqual([])
    expect(seen.audit.at(-1)).toMatchObject({
      action: 'roles_granted',
      details: { enforced: false, approvers: ['bob'] },
    })
  })
})

test('the audit tells the whole story, once', () => {
  const seen = playSteps([
    ['two are needed', governance({ requiredApprovals: 2 }), 'PendingApproval:'],
    ['one', (w) => approve(w, 'bob'), 'QuorumNotReached:'],
    ['two', (w) => entry(w, 'dave', { form: 'condition' }), `Granted: ${MANAGER}`],
    ['less', (w) => edit(w, { roles: ['viewer'] }), 'Granted: viewer'],
    ['denied', (w) => deny(w, 'bob'), 'Denied:'],
  ])
  expect(seen.audit.map(({ action, details }) => [action, details['approver'] ?? details['roles'] ?? null])).toEqual([
    ['assignment_requested', ['editor', 'manager', 'viewer']],
    ['assignment_decided', 'bob'],
    ['assignment_decided', 'dave'],
    ['roles_granted', ['editor', 'manager', 'viewer']],
    ['assignment_requested', ['viewer']],
    ['roles_revoked', ['editor', 'manager']],
    ['assignment_decided', 'bob'],
    ['roles_revoked', ['viewer']],
  ])
  expect(seen.audit[0]?.details).toMatchObject({ uid: 'assignment-1', requestedBy: 'carol', requiredApprovals: 2 })
  expect(seen.audit.at(-1)?.details).toMatchObject({ cause: 'Denied' })
})

test('audit and Events name a claim as one', () => {
  const seen = playSteps([
    ['by carol', () => {}, 'PendingApproval:'],
    ['for carol', (w) => edit(w, { submittedBy: 'gitops', formerRequesters: ['frank'] }), 'PendingApproval:'],
    ['for dora', (w) => edit(w, { requestedBy: 'dora', submittedBy: undefined }), 'PendingApproval:'],
  ])
  const writers = { requestedBy: 'carol', claimed: false, submittedBy: 'carol', formerRequesters: [] }
  expect(seen.audit.map(({ details }) => details)).toMatchObject([
    writers,
    { ...writers, claimed: true, submittedBy: 'gitops', formerRequesters: ['frank'] },
    { requestedBy: 'dora', claimed: true, submittedBy: null },
  ])
  expect(seen.audit.map((note) => eventOf(note, 'alice-manager').message)).toEqual([
    'alice-manager: requested editor, manager, viewer by carol',
    'alice-manager: requested editor, manager, viewer by carol (as claimed by gitops)',
    'alice-manager: requested editor, manager, viewer by dora (a claim)',
  ])
})
