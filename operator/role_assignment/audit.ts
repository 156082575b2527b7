import { names, printable } from '../../process/printable.ts'
import type { ResourceEvent } from '../source/resource_source.ts'
import type { AuditNote, DecisionInput, DecisionResult } from './decision.ts'
import type { EndCause } from './grant.ts'
import type { Grant, Granted } from './granted.ts'
import type { Tally } from './quorum.ts'
import { isClaim, requesterText } from './writers.ts'

/**
 * The transitions from the stored state to the new one. Stored state is no transition: rebuilding rows from a status, or
 * a status from rows, writes no audit row.
 */
export function auditNotes(
  input: DecisionInput,
  before: Granted | undefined,
  after: Granted,
  { votes, ended, isNew = false }: { votes?: Tally; ended: EndCause | undefined; isNew?: boolean | undefined },
): AuditNote[] {
  const { uid, generation, namespace, name, subject } = input.assignment
  const note = (action: AuditNote['action'], details: AuditNote['details']): AuditNote => ({
    action,
    details: { uid, generation, namespace, name, subjectKind: subject.kind, subjectName: subject.name, ...details },
  })
  const notes: AuditNote[] = []

  const known = before?.generation === after.generation ? before : undefined
  if (after.resolvedAt !== undefined && known?.resolvedAt !== after.resolvedAt) {
    const { roles, listedRoles, requiredApprovals, expiresAt = null, durationSeconds = null } = after
    const { requestedBy, submittedBy = null, formerRequesters = [] } = input.assignment
    const writers = {
      requestedBy,
      claimed: isClaim(input.assignment),
      submittedBy,
      formerRequesters: [...formerRequesters],
    }
    notes.push(
      note('assignment_requested', { ...writers, listedRoles, roles, requiredApprovals, expiresAt, durationSeconds }),
    )
  }
  for (const { approver, decision, form } of votes?.newDecisions ?? []) {
    notes.push(note('assignment_decided', { approver, decision, form, counted: true }))
  }
  for (const { approver, reason } of votes?.newlyUncounted ?? []) {
    notes.push(note('assignment_decided', { approver, decision: 'Approved', counted: false, reason }))
  }

  const rolesBefore = servedRoles(before?.serving)
  const rolesAfter = servedRoles(after.serving)
  const removed = rolesBefore.filter((role) => !rolesAfter.includes(role))
  const added = isNew ? rolesAfter : rolesAfter.filter((role) => !rolesBefore.includes(role))
  const expired = ended === 'Ended' ? (before?.serving?.roles ?? []) : []
  if (expired.length > 0) notes.push(note('roles_expired', { roles: expired }))
  else if (removed.length > 0) {
    notes.push(note('roles_revoked', { roles: removed, cause: ended ?? causeOfRevocation(before, after) }))
  }
  if (after.outcome === 'TimedOut' && known?.outcome !== 'TimedOut') {
    notes.push(note('roles_expired', { roles: [], cause: 'PendingTimeout' }))
  }
  if (added.length > 0 && after.serving) {
    const { governed, approvers, expiresAt = null, generation: grantedGeneration } = after.serving
    const enforced = input.enforcement.mode === 'enforced'
    notes.push(note('roles_granted', { roles: added, governed, approvers, expiresAt, grantedGeneration, enforced }))
  }
  return notes
}

/** The Event for an audit row. */
export function eventOf({ action, details }: AuditNote, assignment: string): ResourceEvent {
  const { reason, type = 'Normal', verb } = EVENTS[action] ?? { reason: 'Audited', verb: action }
  const roles = Array.isArray(details['roles']) && details['roles'].length > 0 ? ` ${names(details['roles'])}` : ''
  const by = accountOf(details)
  const decision = typeof details['decision'] === 'string' ? `${details['decision']} ` : ''
  const cause = typeof details['cause'] === 'string' ? ` (${details['cause']})` : ''
  return { type, reason, message: `${printable(assignment)}: ${decision}${verb}${roles}${by}${cause}` }
}

function accountOf({ approver, requestedBy, submittedBy }: AuditNote['details']): string {
  if (typeof approver === 'string') return ` by ${printable(approver)}`
  if (typeof requestedBy !== 'string') return ''
  return ` by ${requesterText({ requestedBy, ...(typeof submittedBy === 'string' && { submittedBy }) })}`
}

/** The waits of a request that ended with this result, for the metric; none when no decision was needed. */
export function endedWaits(
  { newDecisions, audit, granted }: DecisionResult,
  now: Date,
): { until: 'decision' | 'grant'; seconds: number }[] {
  const isGranted = audit.some(({ action, details }) => action === 'roles_granted' && details['governed'] === true)
  const resolvedAt = granted.resolvedAt === undefined ? now.getTime() : Date.parse(granted.resolvedAt)
  const seconds = Math.max(0, (now.getTime() - resolvedAt) / 1_000)
  return [
    ...newDecisions.map(() => ({ until: 'decision' as const, seconds })),
    ...(isGranted ? [{ until: 'grant' as const, seconds }] : []),
  ]
}

const EVENTS: Partial<Record<AuditNote['action'], { reason: string; type?: 'Warning'; verb: string }>> = {
  assignment_requested: { reason: 'Requested', verb: 'requested' },
  assignment_decided: { reason: 'Decided', verb: 'recorded' },
  roles_granted: { reason: 'RolesGranted', verb: 'granted' },
  roles_revoked: { reason: 'RolesRevoked', type: 'Warning', verb: 'revoked' },
  roles_expired: { reason: 'RolesExpired', type: 'Warning', verb: 'expired' },
}

function servedRoles(grant: Grant | undefined): string[] {
  return grant && !grant.paused ? grant.roles : []
}

function causeOfRevocation(before: Granted | undefined, after: Granted): string {
  if (after.serving?.paused) return 'Unresolved'
  return before?.generation === after.generation ? 'RealmChanged' : 'Edited'
}
