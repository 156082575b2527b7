import { describe, expect, test } from 'vitest'
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

function tell(steps: Step[], seen = world()): World {
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
  test('roles still listed keep serving, removed ones go at once, added ones wait', () => {
    tell([
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

  test('what a removed role was composed of goes with it, unless it is listed itself', () => {
    const seen = tell([
      ...GRANTED,
      ['only a part is listed now', (w) => edit(w, { roles: ['viewer'] }), 'Granted: viewer'],
      ['another role brings nothing', (w) => edit(w, { roles: ['auditor'] }), 'PendingApproval:'],
    ])
    expect(reconcile(seen).granted).not.toHaveProperty('serving')
  })

  test('a role that merely reaches a granted one does not keep it', () => {
    tell([
      ['asked', (w) => edit(w, { roles: ['viewer'] }), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), 'Granted: viewer'],
      ['the manager reaches it', (w) => edit(w, { roles: ['manager'] }), 'PendingApproval:'],
    ])
  })

  test('an edit that asks for nothing more needs no decision', () => {
    const seen = tell([...GRANTED, ['the reason', (w) => edit(w, {}), `Granted: ${MANAGER}`]])
    expect(reconcile(seen).ready.message).toContain('approved by bob (generation 1)')
  })

  test('the message tells what is served from what waits', () => {
    const seen = tell([
      ...GRANTED,
      ['more', (w) => edit(w, { roles: ['auditor', 'manager'] }), `PendingApproval: ${MANAGER}`],
    ])
    expect(reconcile(seen).ready.message).toBe(
      '0 of 1 approval; waiting for 1 more; requested by carol, who cannot decide; not yet granted: auditor; ' +
        'granted: editor, manager, viewer',
    )
  })

  test('row 108: edit back: roles granted just before stay, the rest needs a new decision', () => {
    tell([
      ['asked', (w) => edit(w, { roles: ['auditor', 'viewer'] }), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), 'Granted: auditor viewer'],
      ['auditor goes', (w) => edit(w, { roles: ['viewer'] }), 'Granted: viewer'],
      ['and is asked for again', (w) => edit(w, { roles: ['auditor', 'viewer'] }), 'PendingApproval: viewer'],
      ['and approved', (w) => approve(w, 'bob'), 'Granted: auditor viewer'],
    ])
  })

  test('a role that does not exist stops what is new, not what was granted', () => {
    tell([
      ...GRANTED,
      ['a typo is added', (w) => edit(w, { roles: ['manager', 'nosuch'] }), `RoleNotFound: ${MANAGER}`],
      ['an approval comes too early', (w) => approve(w, 'bob'), `RoleNotFound: ${MANAGER}`],
      ['then the role is there', define('nosuch'), `DecidedTooEarly: ${MANAGER}`],
    ])
  })

  test('row 111: a change of metadata is no new generation and changes nothing', () => {
    const seen = tell(GRANTED)
    const before = reconcile(seen)
    expect(reconcile(seen)).toEqual(before)
  })
})

describe('time', () => {
  const until = (seconds: number) => ({ expiresAt: after(seconds), durationSeconds: undefined })

  test('a grant ends by itself, and its approvals do not bring it back', () => {
    const seen = tell([
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

  test('a nearer end counts at once, a later one waits for a decision', () => {
    const ends = (w: World) => reconcile(w).roles.map(({ expiresAt }) => expiresAt?.toISOString() ?? 'never')
    const seen = tell([
      ['until ten', (w) => edit(w, { roles: ['viewer'], ...until(10) }), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), 'Granted: viewer'],
    ])
    expect(ends(seen)).toEqual([after(10)])
    tell([['nearer', (w) => edit(w, until(5)), 'Granted: viewer']], seen)
    expect(ends(seen)).toEqual([after(5)])
    tell([['later', (w) => edit(w, until(20)), 'PendingApproval: viewer']], seen)
    expect(ends(seen)).toEqual([after(5)])
    tell([['edited back to what was approved', (w) => edit(w, until(10)), 'PendingApproval: viewer']], seen)
    expect(ends(seen)).toEqual([after(5)])
    tell([['no end', (w) => edit(w, { expiresAt: undefined }), 'PendingApproval: viewer']], seen)
    expect(ends(seen)).toEqual([after(5)])
    tell([['the present one ends while the new one waits', (w) => pass(w, 5), 'PendingApproval:']], seen)
    tell([['approved', (w) => approve(w, 'bob'), 'Granted: viewer']], seen)
    expect(ends(seen)).toEqual(['never'])
  })

  test('the audit knows of longer time for the same roles, and of an end that came unseen', () => {
    const seen = tell([
      ['until ten', (w) => edit(w, until(10)), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`],
      ['until twenty', (w) => edit(w, until(20)), `PendingApproval: ${MANAGER}`],
      ['approved', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`],
    ])
    expect(seen.audit.at(-1)).toMatchObject({ action: 'roles_granted', details: { expiresAt: after(20) } })
    tell(
      [
        ['no realm', missing, 'RealmNotFound:'],
        ['the end', (w) => pass(w, 20), 'RealmNotFound:'],
      ],
      seen,
    )
    expect(seen.audit.at(-1)).toMatchObject({ action: 'roles_expired' })
  })

  test('a duration runs from the grant, also through edits that leave it', () => {
    const seen = tell([
      ['asked', (w) => edit(w, { roles: ['auditor', 'viewer'], durationSeconds: 100 }), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), 'Granted: auditor viewer'],
      ['fifty later one role goes', (w) => (pass(w, 50), edit(w, { roles: ['viewer'] })), 'Granted: viewer'],
      ['and after a hundred all', (w) => pass(w, 50), 'Expired:'],
      ['for good', (w) => pass(w, 50), 'Expired:'],
    ])
    expect(seen.audit.at(-2)?.action ?? '').toBe('roles_revoked')
    expect(seen.audit.at(-1)?.action).toBe('roles_expired')
  })

  test('a request that nobody decides times out for its generation', () => {
    const seen = tell([
      ['asked', governance({ pendingTimeoutSeconds: 60 }), 'PendingApproval:'],
      ['a second before', (w) => pass(w, 59), 'PendingApproval:'],
      ['in time', (w) => pass(w, 1), 'Expired:'],
      ['an approval comes too late', (w) => approve(w, 'bob'), 'Expired:'],
      ['a longer timeout changes nothing', governance({ pendingTimeoutSeconds: 600 }), 'Expired:'],
      ['no timeout neither', governance({ pendingTimeoutSeconds: undefined }), 'Expired:'],
      ['asked anew', (w) => edit(w, {}), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`],
    ])
    expect(seen.audit.filter(({ action }) => action === 'roles_expired')).toHaveLength(1)
  })

  test('an edit that asks for nothing more has nothing to time out', () => {
    tell([
      ['asked', governance({ pendingTimeoutSeconds: 60 }), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`],
      ['the reason', (w) => edit(w, {}), `Granted: ${MANAGER}`],
      ['much later', (w) => pass(w, 3600), `Granted: ${MANAGER}`],
    ])
    const seen = tell([
      ['off', governance({ pendingTimeoutSeconds: 60, enabled: false }), `GrantedUngoverned: ${MANAGER}`],
      ['on', governance({ pendingTimeoutSeconds: 60, enabled: true }), `GrantedUngoverned: ${MANAGER}`],
      ['much later', (w) => pass(w, 3600), `GrantedUngoverned: ${MANAGER}`],
    ])
    expect(reconcile(seen)).not.toHaveProperty('requeueAt')
  })

  test('a timed-out edit leaves what was granted', () => {
    tell([
      ['asked', governance({ pendingTimeoutSeconds: 60 }), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`],
      ['much later', (w) => pass(w, 3600), `Granted: ${MANAGER}`],
      ['more', (w) => edit(w, { roles: ['manager', 'auditor'] }), `PendingApproval: ${MANAGER}`],
      ['undecided', (w) => pass(w, 60), `Expired: ${MANAGER}`],
      ['late', (w) => approve(w, 'bob'), `Expired: ${MANAGER}`],
      ['but a denial is never late', (w) => deny(w, 'dave'), 'Denied:'],
    ])
  })

  test('the answer says when time alone will change it', () => {
    const seen = tell([['asked', governance({ pendingTimeoutSeconds: 60 }), 'PendingApproval:']])
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
  test('wins over approvals, ends what was granted, and nothing but an edit turns it back', () => {
    tell([
      ...GRANTED,
      ['the approver thinks again', (w) => deny(w, 'bob'), 'Denied:'],
      ['and again', (w) => approve(w, 'bob'), 'Denied:'],
      ['others approve', (w) => approve(w, 'dave', 'erin'), 'Denied:'],
      ['the entries go', (w) => (w.decisions = []), 'Denied:'],
      ['governance is disabled', governance({ enabled: false }), 'Denied:'],
      ['and enabled', governance({ enabled: true }), 'Denied:'],
      ['an edit asks anew', (w) => edit(w, {}), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'dave'), `Granted: ${MANAGER}`],
    ])
  })

  test('ends what an earlier generation was granted as well', () => {
    tell([
      ...GRANTED,
      ['the reason is edited', (w) => edit(w, {}), `Granted: ${MANAGER}`],
      ['and that is denied', (w) => deny(w, 'dave'), 'Denied:'],
      ['edited back', (w) => edit(w, {}), 'PendingApproval:'],
    ])
  })

  test('cannot be outrun by an edit', () => {
    tell([
      ...GRANTED,
      ['denied, and edited before it is seen', (w) => (deny(w, 'bob'), edit(w, {})), 'PendingApproval:'],
      ['nothing comes back', nothing, 'PendingApproval:'],
    ])
  })

  test('of a former generation does not reach what was approved since', () => {
    tell([
      [
        'denied as a condition, which stays there',
        (w) => entry(w, 'dave', { form: 'condition', decision: 'Denied' }),
        'Denied:',
      ],
      ['asked anew', (w) => edit(w, {}), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`],
      ['and later', (w) => pass(w, 10), `Granted: ${MANAGER}`],
    ])
  })

  test('of another object under the same name ends nothing', () => {
    const former = { form: 'condition', decision: 'Denied', observedUID: 'assignment-0' } as const
    tell([
      ...GRANTED,
      ['a former one was denied', (w) => entry(w, 'dave', former), `Granted: ${MANAGER}`],
      ['edited', (w) => edit(w, {}), `Granted: ${MANAGER}`],
    ])
  })

  test('is heard while something is missing', () => {
    tell([
      ['no user', (w) => (w.user = undefined), 'SubjectNotFound:'],
      ['denied', (w) => deny(w, 'bob'), 'Denied:'],
      ['the user is there', (w) => (w.user = world().user), 'Denied:'],
    ])
    const seen = tell([
      ...GRANTED,
      ['no realm', missing, 'RealmNotFound:'],
      ['denied', (w) => deny(w, 'bob'), 'RealmNotFound:'],
      ['the denial is gone, the realm is there', (w) => (back(w), (w.decisions = [])), 'Denied:'],
    ])
    expect(seen.recorded).toEqual([expect.objectContaining({ approver: 'bob', decision: 'Approved' })])
  })
})

describe('the quorum', () => {
  test('raised, it counts at once for what waits; lowered, for new generations', () => {
    tell([
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
      ['asked anew, one is enough', (w) => edit(w, {}), `PendingApproval: ${MANAGER}`],
      ['one', (w) => approve(w, 'bob'), `Granted: auditor ${MANAGER}`],
    ])
  })

  test('counts who approved in different generations for one only', () => {
    tell([
      ['two are needed', governance({ requiredApprovals: 2 }), 'PendingApproval:'],
      ['one', (w) => approve(w, 'bob'), 'QuorumNotReached:'],
      ['edited', (w) => edit(w, {}), 'PendingApproval:'],
      ['another', (w) => approve(w, 'dave'), 'QuorumNotReached:'],
      ['the first again', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`],
    ])
  })

  test('row 113: an approver who leaves: what they decided stays', () => {
    tell([
      ['two are needed', governance({ requiredApprovals: 2 }), 'PendingApproval:'],
      ['one', (w) => approve(w, 'bob'), 'QuorumNotReached:'],
      ['whose entry goes', (w) => (w.decisions = []), 'QuorumNotReached:'],
      ['another', (w) => approve(w, 'dave'), `Granted: ${MANAGER}`],
    ])
  })
})

describe('row 112: roles change in the realm', () => {
  test('what is composed in later waits for a new decision, what is taken out counts at once', () => {
    const seen = tell([
      ...GRANTED,
      ['the editor audits as well', composites('editor', 'viewer', 'auditor'), `Granted: ${MANAGER}`],
    ])
    expect(reconcile(seen).ready.message).toContain('the realm added auditor after the request, without a decision')
    tell(
      [
        ['asked anew', (w) => edit(w, {}), `PendingApproval: ${MANAGER}`],
        ['approved', (w) => approve(w, 'bob'), `Granted: auditor ${MANAGER}`],
        ['no manager edits', composites('manager', 'viewer'), 'Granted: manager viewer'],
        ['they do again', composites('manager', 'viewer', 'editor'), 'Granted: manager viewer'],
      ],
      seen,
    )
  })

  test('what is composed in while a request waits is not covered', () => {
    tell([
      ['asked', nothing, 'PendingApproval:'],
      ['widened', composites('manager', 'editor', 'viewer', 'auditor'), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`],
    ])
  })

  test('what is taken out while a request waits is not granted', () => {
    tell([
      ['asked', nothing, 'PendingApproval:'],
      ['narrowed', composites('manager', 'viewer'), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), 'Granted: manager viewer'],
    ])
  })

  test('a listed role that leaves the realm while a request waits is asked for anew', () => {
    const seen = tell([
      ['asked', (w) => edit(w, { roles: ['auditor', 'viewer'] }), 'PendingApproval:'],
      ['auditor is gone', undefine('auditor'), 'RoleNotFound:'],
      ['another auditor comes', define('auditor'), 'PendingApproval:'],
    ])
    expect(reconcile(seen).ready.message).toContain('added to the realm after the request: auditor: edit spec')
    tell([['approved', (w) => approve(w, 'bob'), 'PendingApproval: viewer']], seen)
  })

  test('a listed role that leaves the realm goes at once, and does not come back by its name alone', () => {
    const seen = tell([
      ['asked', (w) => edit(w, { roles: ['auditor', 'viewer'] }), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), 'Granted: auditor viewer'],
      ['auditor is gone', undefine('auditor'), 'RoleNotFound: viewer'],
      ['another auditor comes', define('auditor'), 'PendingApproval: viewer'],
      ['a further approval of the same generation', (w) => approve(w, 'dave'), 'PendingApproval: viewer'],
    ])
    expect(reconcile(seen).ready.message).toContain(
      'removed from the realm after the approval and added again: auditor; edit spec',
    )
    tell(
      [
        ['asked anew', (w) => edit(w, {}), 'PendingApproval: viewer'],
        ['approved', (w) => approve(w, 'dave'), 'Granted: auditor viewer'],
      ],
      seen,
    )
  })

  test('a role of an encrypted field ends with the field', () => {
    tell([
      ['asked', (w) => edit(w, { roles: ['_svc_dob.selfdecrypt'] }), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), 'Granted: _svc_dob.selfdecrypt'],
      ['the field is removed', (w) => (w.realm = { ...w.realm, fieldRoles: [] }), 'RoleNotFound:'],
      ['and comes back', (w) => (w.realm = world().realm), 'PendingApproval:'],
    ])
  })
})

describe('another object under the same name', () => {
  test('the subject is recreated: everything starts anew', () => {
    tell([
      ...GRANTED,
      ['another alice', otherUser, 'SubjectReplaced:'],
      ['an approval of the same generation', (w) => approve(w, 'dave'), 'SubjectReplaced:'],
      ['asked anew', (w) => edit(w, {}), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'dave'), `Granted: ${MANAGER}`],
    ])
  })

  test('the same uid under another sub is another subject', () => {
    tell([...GRANTED, ['another sub', (w) => (w.user = { ...w.user!, sub: 'sub-2' }), 'SubjectReplaced:']])
  })

  test('the subject is recreated while a request waits', () => {
    tell([
      ['asked', nothing, 'PendingApproval:'],
      ['another alice', otherUser, 'SubjectReplaced:'],
      ['approved by somebody who saw the first', (w) => approve(w, 'bob'), 'SubjectReplaced:'],
    ])
  })

  test('the subject is recreated and the spec edited before anybody looks', () => {
    tell([...GRANTED, ['both at once', (w) => (otherUser(w), edit(w, {})), 'PendingApproval:']])
  })

  test('the subject is recreated with the fixed sub of the former one', () => {
    tell([...GRANTED, ['another uid', (w) => (w.user = { ...w.user!, uid: 'user-2' }), 'SubjectReplaced:']])
  })

  test('the audit tells which of both was replaced', () => {
    const causes = ({ audit }: World) => audit.map(({ details }) => details['cause']).filter(Boolean)
    expect(causes(tell([...GRANTED, ['another alice', otherUser, 'SubjectReplaced:']]))).toEqual(['SubjectReplaced'])
    expect(causes(tell([...GRANTED, ['another realm', otherRealm, 'RealmReplaced:']]))).toEqual(['RealmReplaced'])
  })

  test('the realm is recreated: decisions for the former one do not count', () => {
    tell([
      ...GRANTED,
      ['another realm', otherRealm, 'RealmReplaced:'],
      ['an approval of the same generation', (w) => approve(w, 'dave'), 'RealmReplaced:'],
      ['asked anew', (w) => edit(w, {}), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'dave'), `Granted: ${MANAGER}`],
    ])
  })

  test('the realm is recreated while the user is missing', () => {
    tell([
      ...GRANTED,
      ['no realm', missing, 'RealmNotFound:'],
      ['another realm, without users', (w) => (back(w), otherRealm(w), (w.user = undefined)), 'SubjectNotFound:'],
      ['the user', (w) => otherUser(w), 'RealmReplaced:'],
    ])
  })

  test('row 110: the assignment is recreated, or restored with its old status', () => {
    tell([
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

  test('without governance a recreated subject is simply granted anew', () => {
    const seen = tell([
      ['ungoverned', governance({ enabled: false }), `GrantedUngoverned: ${MANAGER}`],
      ['another alice', otherUser, `GrantedUngoverned: ${MANAGER}`],
    ])
    expect(reconcile(seen).grantee).toEqual({ kind: 'User', subject: 'sub-2' })
    tell(
      [
        ['governed', governance({ enabled: true }), `GrantedUngoverned: ${MANAGER}`],
        ['yet another', (w) => (w.user = { uid: 'user-3', sub: 'sub-3', realmUid: 'realm-1' }), 'SubjectReplaced:'],
      ],
      seen,
    )
  })

  test('approvals made for the former subject do not confirm a grant to the next one', () => {
    tell([
      ['ungoverned', governance({ enabled: false, requiredApprovals: 2 }), `GrantedUngoverned: ${MANAGER}`],
      ['one approves all the same', (w) => approve(w, 'bob'), `GrantedUngoverned: ${MANAGER}`],
      ['another alice', otherUser, `GrantedUngoverned: ${MANAGER}`],
      ['governed', governance({ enabled: true }), `GrantedUngoverned: ${MANAGER}`],
      ['a second approval', (w) => approve(w, 'dave'), `GrantedUngoverned: ${MANAGER}`],
    ])
  })
})

describe('what is missing for a while', () => {
  test('nothing is served meanwhile, and nothing is forgotten', () => {
    const seen = tell([
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

  test('a grant that ends meanwhile is over', () => {
    tell([
      ['asked', (w) => edit(w, { durationSeconds: 60 }), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`],
      ['the realm is away', missing, 'RealmNotFound:'],
      ['the time passes', (w) => pass(w, 60), 'RealmNotFound:'],
      ['the realm is back', back, 'Expired:'],
    ])
  })

  test('a namespace that is no longer admitted loses its roles', () => {
    tell([
      ...GRANTED,
      [
        'narrowed',
        (w) => (w.refused = { admitted: false, reason: 'NamespaceNotAllowed', message: 'no' }),
        'NamespaceNotAllowed:',
      ],
    ])
  })
})

describe('a decision before realm, subject and roles are there', () => {
  test.each<[string, (world: World) => void, (world: World) => void, string]>([
    ['the realm', missing, back, 'RealmNotFound:'],
    ['the user', (w) => (w.user = undefined), (w) => (w.user = world().user), 'SubjectNotFound:'],
    ['a role', undefine('manager'), (w) => (w.realm = world().realm), 'RoleNotFound:'],
  ])('is void where %s comes later', (_, take, give, reason) => {
    tell([
      ['not all is there', take, reason],
      ['approved', (w) => approve(w, 'bob'), reason],
      ['now all is there', give, 'DecidedTooEarly:'],
      [
        'the same approver again',
        (w) => (approve(w, 'bob'), entry(w, 'BOB', { form: 'condition' })),
        'DecidedTooEarly:',
      ],
      ['status is emptied and written again', (w) => ((w.decisions = []), approve(w, 'bob')), 'DecidedTooEarly:'],
      ['asked anew', (w) => edit(w, {}), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`],
    ])
  })

  test('voids itself alone: who looked at the whole decides', () => {
    tell([
      ['no user', (w) => (w.user = undefined), 'SubjectNotFound:'],
      ['approved', (w) => approve(w, 'bob'), 'SubjectNotFound:'],
      ['the user', (w) => (w.user = world().user), 'DecidedTooEarly:'],
      ['somebody else', (w) => approve(w, 'dave'), `Granted: ${MANAGER}`],
    ])
  })

  test('counts when it is first seen together with them', () => {
    tell([['all at once', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`]])
  })

  test('one that names the next generation does not wait for it', () => {
    const ahead = (w: World) => entry(w, 'bob', { form: 'condition', observedGeneration: 2 })
    tell([
      ['asked', nothing, 'PendingApproval:'],
      ['approved ahead', ahead, 'PendingApproval:'],
      ['its generation comes', (w) => edit(w, { roles: ['auditor'] }), 'DecidedTooEarly:'],
    ])
  })

  test('one that comes while something is away again waits until it is back', () => {
    const seen = tell([
      ['asked', nothing, 'PendingApproval:'],
      ['no user', (w) => (w.user = undefined), 'SubjectNotFound:'],
      ['approved', (w) => approve(w, 'bob'), 'SubjectNotFound:'],
    ])
    expect(seen.recorded).toEqual([])
    tell([['the user', (w) => (w.user = world().user), `Granted: ${MANAGER}`]], seen)
  })

  test('more of them than can be remembered: nobody counts', () => {
    const seen = tell([['no user', (w) => (w.user = undefined), 'SubjectNotFound:']])
    for (let round = 0; round < 5; round++) {
      seen.decisions = []
      approve(seen, ...Array.from({ length: 16 }, (_, n) => `approver-${round}-${n}`))
      reconcile(seen)
    }
    seen.user = world().user
    seen.decisions = []
    tell([['a fresh approver', (w) => approve(w, 'bob'), 'DecidedTooEarly:']], seen)
  })
})

describe('governance switched', () => {
  test('on later: earlier grants stay, marked; what is added waits', () => {
    tell([
      ['off', governance({ enabled: false }), `GrantedUngoverned: ${MANAGER}`],
      ['on', governance({ enabled: true }), `GrantedUngoverned: ${MANAGER}`],
      ['widened', composites('manager', 'editor', 'viewer', 'auditor'), `GrantedUngoverned: ${MANAGER}`],
      ['more', (w) => edit(w, { roles: ['manager', 'auditor'] }), `PendingApproval: ${MANAGER}`],
      ['approved', (w) => approve(w, 'bob'), `Granted: auditor ${MANAGER}`],
    ])
  })

  test('on later: a quorum confirms an earlier grant without giving it more time', () => {
    const seen = tell([
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

  test('off: what waits is granted without a decision, but for roles that always need one', () => {
    tell([
      ['asked', nothing, 'PendingApproval:'],
      ['off', governance({ enabled: false }), `GrantedUngoverned: ${MANAGER}`],
    ])
    tell([
      ['asked', (w) => edit(w, { roles: ['viewer', 'svc-realm-admin'] }), 'PendingApproval:'],
      ['off', governance({ enabled: false }), 'PendingApproval:'],
    ])
  })

  test('off: composites follow the realm, an end stays an end', () => {
    tell([
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

  test('off: adding a role that needs a decision keeps what was granted', () => {
    tell([
      ['off', governance({ enabled: false }), `GrantedUngoverned: ${MANAGER}`],
      [
        'more',
        (w) => edit(w, { roles: ['manager', 'auditor', '_svc_dob.selfencrypt'] }),
        `PendingApproval: ${MANAGER}`,
      ],
      ['approved', (w) => approve(w, 'bob'), `Granted: _svc_dob.selfencrypt auditor ${MANAGER}`],
    ])
  })

  test('off: an edit that asks for nothing more does not give the time a second time', () => {
    tell([
      [
        'off',
        (w) => (governance({ enabled: false })(w), edit(w, { durationSeconds: 60 })),
        `GrantedUngoverned: ${MANAGER}`,
      ],
      ['edited', (w) => (pass(w, 30), edit(w, {})), `GrantedUngoverned: ${MANAGER}`],
      ['a minute after the grant', (w) => pass(w, 30), 'Expired:'],
    ])
  })

  test('off and on: an approved grant stays an approved one', () => {
    tell([
      ...GRANTED,
      ['off', governance({ enabled: false }), `Granted: ${MANAGER}`],
      ['on', governance({ enabled: true }), `Granted: ${MANAGER}`],
    ])
  })
})

describe('deleting', () => {
  test('takes everything, and nothing is granted any more', () => {
    const seen = tell([
      ...GRANTED,
      ['deleted', (w) => (w.assignment = { ...w.assignment, deleting: true }), 'Deleting:'],
      ['approved', (w) => approve(w, 'dave'), 'Deleting:'],
    ])
    expect(seen.audit.at(-1)).toMatchObject({ action: 'roles_revoked', details: { cause: 'Deleted' } })
    expect(seen.recorded).toHaveLength(1)
  })
})

describe('what is lost and rebuilt', () => {
  const emptied = (w: World) => ((w.status = undefined), (w.decisions = []))
  const noRows = (w: World) => (w.row = undefined)

  test('an emptied status revokes nothing', () => {
    const seen = tell([
      ['two are needed', governance({ requiredApprovals: 2 }), 'PendingApproval:'],
      ['one', (w) => approve(w, 'bob'), 'QuorumNotReached:'],
      ['emptied', emptied, 'QuorumNotReached:'],
      ['another', (w) => approve(w, 'dave'), `Granted: ${MANAGER}`],
    ])
    const notes = seen.audit.length
    tell([['emptied', emptied, `Granted: ${MANAGER}`]], seen)
    expect(seen.audit).toHaveLength(notes)
  })

  test('dropped rows are rebuilt from the status, without an audit row', () => {
    const seen = tell(GRANTED)
    const notes = seen.audit.length
    tell([['rows dropped', noRows, `Granted: ${MANAGER}`]], seen)
    expect(seen.audit).toHaveLength(notes)
  })

  test('dropped rows and a status that anybody may have written: nothing is granted on the word of it', () => {
    const seen = tell(GRANTED)
    seen.statusTrusted = false
    tell([['untrusted', noRows, 'DecisionUnproven:']], seen)

    const ungoverned = tell([['off', governance({ enabled: false }), `GrantedUngoverned: ${MANAGER}`]])
    ungoverned.statusTrusted = false
    tell([['untrusted', (w) => (noRows(w), governance({ enabled: true })(w)), 'PendingApproval:']], ungoverned)
  })

  test('a status that can be trusted beats rows restored from a backup', () => {
    const seen = tell(GRANTED)
    const older = seen.row
    tell(
      [
        ['less', (w) => edit(w, { roles: ['viewer', 'auditor'] }), 'PendingApproval: viewer'],
        ['approved', (w) => approve(w, 'bob'), 'Granted: auditor viewer'],
        ['restored', (w) => ((w.row = older), w.recorded.pop(), (w.decisions = [])), 'Granted: auditor viewer'],
      ],
      seen,
    )
  })

  test('a recorded denial ends what rows restored from a backup still give', () => {
    const seen = tell(GRANTED)
    const older = seen.row
    tell(
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

  test('rows beat a status that says otherwise', () => {
    const seen = tell([['asked', nothing, 'PendingApproval:']])
    const forged = tell(GRANTED)
    seen.statusTrusted = false
    tell([['forged', (w) => (w.status = forged.status), 'PendingApproval:']], seen)
    seen.statusTrusted = true
    tell([['forged for this generation', (w) => (w.status = forged.status), 'PendingApproval:']], seen)
  })

  test('everything but the recorded decisions is lost: what they covered is not known', () => {
    tell([...GRANTED, ['lost', (w) => (emptied(w), noRows(w)), 'DecisionUnproven:']])
  })

  test('a cluster set back that counts the same generations again', () => {
    tell([
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
    const lagging = tell([
      ...GRANTED,
      ['edited', (w) => edit(w, {}), `Granted: ${MANAGER}`],
      ['an older read', (w) => (w.assignment = { ...w.assignment, generation: 1 }), 'DecisionUnproven:'],
    ])
    expect(lagging.audit.at(-1)).toMatchObject({ action: 'roles_revoked', details: { cause: 'Unresolved' } })
    tell(
      [['and a present one', (w) => (w.assignment = { ...w.assignment, generation: 2 }), `Granted: ${MANAGER}`]],
      lagging,
    )
    tell([
      ...GRANTED,
      ['more', (w) => edit(w, { roles: ['manager', 'auditor'] }), `PendingApproval: ${MANAGER}`],
      ['approved', (w) => approve(w, 'bob'), `Granted: auditor ${MANAGER}`],
      ['set back', (w) => (w.assignment = { ...w.assignment, generation: 1 }), 'DecisionUnproven:'],
      ['and denied', (w) => deny(w, 'dave'), 'DecisionUnproven:'],
      ['edited, and edited', (w) => (edit(w, {}), edit(w, {})), 'PendingApproval:'],
    ])
    tell([
      ...GRANTED,
      [
        'set back and edited while nobody looked',
        (w) => (w.assignment = { ...w.assignment, roles: ['auditor'] }),
        'DecisionUnproven:',
      ],
    ])
  })
})

describe('row 114: policies removed and put back with forged decisions in between', () => {
  test('what is first seen in the gap does not count after it either', () => {
    tell([
      ['asked', nothing, 'PendingApproval:'],
      ['the gap begins', enforcement('gap'), 'ApprovalNotEnforced:'],
      ['forged', (w) => approve(w, 'bob'), 'ApprovalNotEnforced:'],
      ['it ends', enforcement('enforced'), 'DecisionUnproven:'],
      ['written again', (w) => entry(w, 'bob', { form: 'condition' }), 'DecisionUnproven:'],
      ['asked anew', (w) => edit(w, {}), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), `Granted: ${MANAGER}`],
    ])
  })

  test('one forged for a later generation does not count when that comes', () => {
    const ahead = (w: World) => entry(w, 'bob', { form: 'condition', observedGeneration: 2 })
    tell([
      ['forged in the gap', (w) => (enforcement('gap')(w), ahead(w)), 'ApprovalNotEnforced:'],
      ['it ends', enforcement('enforced'), 'PendingApproval:'],
      ['and the author edits', (w) => edit(w, { roles: ['auditor'] }), 'DecidedTooEarly:'],
    ])
  })

  test('grants made before stay, and what is edited away goes', () => {
    tell([
      ...GRANTED,
      ['gap', enforcement('gap'), `Granted: ${MANAGER}`],
      ['less', (w) => edit(w, { roles: ['viewer'] }), 'Granted: viewer'],
      ['more', (w) => edit(w, { roles: ['viewer', 'auditor'] }), 'ApprovalNotEnforced: viewer'],
      ['approved', (w) => approve(w, 'bob'), 'ApprovalNotEnforced: viewer'],
      ['it ends', enforcement('enforced'), 'DecisionUnproven: viewer'],
      ['somebody else', (w) => approve(w, 'dave'), 'Granted: auditor viewer'],
    ])
  })

  test('a quorum recorded before counts after the gap, without being made again', () => {
    tell([
      ['two are needed', governance({ requiredApprovals: 2 }), 'PendingApproval:'],
      ['one', (w) => approve(w, 'bob'), 'QuorumNotReached:'],
      ['gap', enforcement('gap'), 'ApprovalNotEnforced:'],
      ['over', enforcement('enforced'), 'QuorumNotReached:'],
      ['another', (w) => approve(w, 'dave'), `Granted: ${MANAGER}`],
    ])
  })

  test('a denial written in the gap denies, but is nobody’s on record', () => {
    const seen = tell([
      ...GRANTED,
      ['denied in the gap', (w) => (enforcement('gap')(w), deny(w, 'bob')), 'Denied:'],
      ['over', enforcement('enforced'), 'Denied:'],
      ['even gone', (w) => (w.decisions = []), 'Denied:'],
    ])
    expect(seen.recorded).toEqual([expect.objectContaining({ decision: 'Approved' })])
  })

  test('a decision that admission could not be asked about waits, and counts when it could', () => {
    tell([
      ['asked', nothing, 'PendingApproval:'],
      ['not known', enforcement('unchecked'), 'PendingApproval:'],
      ['approved', (w) => approve(w, 'bob'), 'PendingApproval:'],
      ['known', enforcement('enforced'), `Granted: ${MANAGER}`],
    ])
  })

  test('without asking for enforcement a gap’s approvals grant while it lasts, and prove nothing later', () => {
    tell([
      [
        'two are needed',
        (w) => (governance({ requiredApprovals: 2 })(w), enforcement('gap', false)(w)),
        'PendingApproval:',
      ],
      ['one', (w) => approve(w, 'bob'), 'QuorumNotReached:'],
      ['over', enforcement('enforced', false), 'DecisionUnproven:'],
      ['a proven one', (w) => approve(w, 'dave'), 'DecisionUnproven:'],
    ])
    const seen = tell([
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
  const seen = tell([
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
