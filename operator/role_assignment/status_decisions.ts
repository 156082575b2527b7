import type { RoleAssignmentStatus } from '../../crds/role_assignment.gen.ts'

/** A decision as an approver wrote it into status, in either form. */
export interface StatusDecision {
  approver: string
  decision: 'Approved' | 'Denied'
  form: 'entry' | 'condition'
  observedGeneration: number
  observedUID: string
}

/** The largest quorum. */
const MAX_ENTRIES = 16

/**
 * The decisions in a status, entries first. A decision without approver, uid or generation is left out. Beyond the
 * schema's bound on entries only Denied counts.
 */
export function statusDecisions(status: Pick<RoleAssignmentStatus, 'approvals' | 'conditions'> = {}): StatusDecision[] {
  const entries: StatusDecision[] = (status.approvals ?? [])
    .filter(({ decision }, index) => index < MAX_ENTRIES || decision === 'Denied')
    .map(({ approver, decision, observedGeneration, observedUID }) => ({
      approver,
      decision,
      form: 'entry',
      observedGeneration,
      observedUID,
    }))
  const conditions = (status.conditions ?? []).flatMap((condition): StatusDecision[] => {
    const { type, status: value, reason, decidedBy, observedGeneration, observedUID } = condition
    if ((type !== 'Approved' && type !== 'Denied') || value !== 'True' || !reason) return []
    if (decidedBy === undefined || observedGeneration === undefined || observedUID === undefined) return []
    return [{ approver: decidedBy, decision: type, form: 'condition', observedGeneration, observedUID }]
  })
  return [...entries, ...conditions].filter(
    ({ approver, decision }) => approver !== '' && (decision === 'Approved' || decision === 'Denied'),
  )
}

/** Whether a decision names this uid and generation. */
export function covers(
  decision: { observedUID?: string; observedGeneration?: number },
  { uid, generation }: { uid: string; generation: number },
): boolean {
  return decision.observedUID === uid && decision.observedGeneration === generation
}

/**
 * The key under which spellings of one user name are equal. Upper case first: some letters have two lower-case forms
 * (the Greek sigma) or no upper-case form of their own (ß).
 */
export function nameKey(userName: string): string {
  return userName.toUpperCase().toLowerCase()
}
