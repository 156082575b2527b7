import type { Granted, Serving } from './granted.ts'
import type { AuditNote, DecisionInput } from './decision.ts'
import type { Tally } from './quorum.ts'
import type { Ending } from './serving.ts'

/**
 * The transitions between what was remembered and what is now, for the audit. What is remembered already happened:
 * rebuilding rows from a status, or a status from rows, is no transition.
 */
export function auditNotes(
  input: DecisionInput,
  before: Granted | undefined,
  after: Granted,
  { votes, ending, isNew = false }: { votes?: Tally; ending: Ending | undefined; isNew?: boolean },
): AuditNote[] {
  const { uid, generation, namespace, name, subject, requestedBy } = input.assignment
  const note = (action: AuditNote['action'], details: AuditNote['details']): AuditNote => ({
    action,
    details: { uid, generation, namespace, name, subjectKind: subject.kind, subjectName: subject.name, ...details },
  })
  const notes: AuditNote[] = []

  const known = before?.generation === after.generation ? before : undefined
  if (after.resolvedAt !== undefined && known?.resolvedAt !== after.resolvedAt) {
    const { roles, listedRoles, requiredApprovals, expiresAt = null, durationSeconds = null } = after
    notes.push(
      note('assignment_requested', { requestedBy, listedRoles, roles, requiredApprovals, expiresAt, durationSeconds }),
    )
  }
  for (const { approver, decision, form } of votes?.record ?? []) {
    notes.push(note('assignment_decided', { approver, decision, form, counted: true }))
  }
  for (const { approver, reason } of votes?.newlySetAside ?? []) {
    notes.push(note('assignment_decided', { approver, decision: 'Approved', counted: false, reason }))
  }

  const had = servedRoles(before?.serving)
  const has = servedRoles(after.serving)
  const gone = had.filter((role) => !has.includes(role))
  const came = isNew ? has : has.filter((role) => !had.includes(role))
  const ended = ending === 'Ended' ? (before?.serving?.roles ?? []) : []
  if (ended.length > 0) notes.push(note('roles_expired', { roles: ended }))
  else if (gone.length > 0)
    notes.push(note('roles_revoked', { roles: gone, cause: ending ?? whyRevoked(before, after) }))
  if (after.outcome === 'TimedOut' && known?.outcome !== 'TimedOut') {
    notes.push(note('roles_expired', { roles: [], cause: 'PendingTimeout' }))
  }
  if (came.length > 0 && after.serving) {
    const { governed, approvers, expiresAt = null, generation: grantedGeneration } = after.serving
    const enforced = input.enforcement.mode === 'enforced'
    notes.push(note('roles_granted', { roles: came, governed, approvers, expiresAt, grantedGeneration, enforced }))
  }
  return notes
}

function servedRoles(serving: Serving | undefined): string[] {
  return serving && !serving.paused ? serving.roles : []
}

function whyRevoked(before: Granted | undefined, after: Granted): string {
  if (after.serving?.paused) return 'Unresolved'
  return before?.generation === after.generation ? 'RealmChanged' : 'Edited'
}
