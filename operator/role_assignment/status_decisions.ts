import type { RoleAssignmentStatus } from '../../crds/role_assignment.gen.ts'

/** A decision as an approver wrote it into status, in either form. */
export interface StatusDecision {
  approver: string
  decision: 'Approved' | 'Denied'
  form: 'entry' | 'condition'
  observedGeneration: number
  observedUID: string
}

/** More approvals than the largest quorum decide nothing. */
const MAX_ENTRIES = 16

/**
 * The decisions in a status, entries first. One that does not say who decided on which uid and generation is none;
 * beyond the schema's bound on entries only Denied is heard.
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
