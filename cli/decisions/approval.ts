import { timeText } from '../../operator/source/directory/state/stored_object.ts'
import type { Approval } from '../../operator/source/directory/state/stored_object.ts'

/** The entry of `status.approvals` for a decision about one state of a RoleAssignment. */
export function approvalEntry(
  { uid, generation }: { uid: string; generation: number },
  { approver, decision, comment }: Pick<Approval, 'approver' | 'decision'> & { comment?: string | undefined },
  now: Date,
): Approval {
  return {
    approver,
    decision,
    observedGeneration: generation,
    observedUID: uid,
    ...(comment !== undefined && comment !== '' && { comment }),
    decidedAt: timeText(now),
  }
}
