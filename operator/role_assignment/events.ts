import type { ResourceEvent } from '../source/resource_source.ts'
import type { AuditNote } from './decision.ts'
import { names, printable } from '../../process/printable.ts'

/** The Event that goes with a line of the audit: for people, and kept for an hour. */
export function eventOf({ action, details }: AuditNote, assignment: string): ResourceEvent {
  const { reason, type = 'Normal', verb } = EVENTS[action] ?? { reason: 'Audited', verb: action }
  const roles = Array.isArray(details['roles']) && details['roles'].length > 0 ? ` ${names(details['roles'])}` : ''
  const by = typeof details['approver'] === 'string' ? ` by ${printable(details['approver'])}` : ''
  const decision = typeof details['decision'] === 'string' ? `${details['decision']} ` : ''
  const cause = typeof details['cause'] === 'string' ? ` (${details['cause']})` : ''
  return { type, reason, message: `${printable(assignment)}: ${decision}${verb}${roles}${by}${cause}` }
}

const EVENTS: Partial<Record<AuditNote['action'], { reason: string; type?: 'Warning'; verb: string }>> = {
  assignment_requested: { reason: 'Requested', verb: 'requested' },
  assignment_decided: { reason: 'Decided', verb: 'recorded' },
  roles_granted: { reason: 'RolesGranted', verb: 'granted' },
  roles_revoked: { reason: 'RolesRevoked', type: 'Warning', verb: 'revoked' },
  roles_expired: { reason: 'RolesExpired', type: 'Warning', verb: 'expired' },
}
