import type { RealmStatus } from '../../crds/realm.gen.ts'
import type { Enforcement } from '../../operator/role_assignment/decision.ts'
import type { Granted } from '../../operator/role_assignment/granted.ts'

/** Why no approval of this generation counts; undefined when approvals count. */
export function whyNoneCounts(granted: Granted | undefined, generation: number): string | undefined {
  if (granted?.resolvedAt !== undefined && granted.generation === generation) return granted.startsOver
  // The cluster was restored from a backup, and the operator has seen a later generation.
  return granted && granted.generation > generation ? 'DecisionUnproven' : undefined
}

/** The reasons of Ready with which the operator reports a count of approvals in a gap without required enforcement. */
const COUNTED_IN_GAP = new Set(['PendingApproval', 'QuorumNotReached', 'DecidedTooEarly'])

/**
 * In a gap, the operator marks unproven approvals in `status.granted`. Where enforcement is not required, it counts them
 * as long as the gap lasts; where it is required, it says ApprovalNotEnforced. Another reason (a role is missing, the
 * request has expired) does not tell which of the two applies: then marked approvals do not count.
 */
export function enforcementOf(
  realm: { status?: Pick<RealmStatus, 'conditions'> | undefined } | undefined,
  ready: { reason: string } | undefined,
): Enforcement {
  const condition = realm?.status?.conditions?.find(({ type }) => type === 'ApprovalEnforced')
  const isGap = condition?.status === 'False' && !['Development', 'Unchecked'].includes(condition.reason)
  if (isGap && ready && COUNTED_IN_GAP.has(ready.reason)) return { mode: 'gap', required: false }
  return { mode: condition?.reason === 'Unchecked' ? 'unchecked' : 'enforced', required: true }
}
