import { timeText } from '../../operator/source/directory/state/stored_object.ts'
import type { Approval } from '../../operator/source/directory/state/stored_object.ts'
import { PlainError } from '../../process/plain_error.ts'
import type { AssignmentRow } from './assignment_row.ts'

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

/** The version that a decision covers, for `--seen`. A re-created object has the same generations, so it has the uid. */
export function seenVersion({ generation, uid }: { generation: number; uid: string }): string {
  return `${generation}/${uid}`
}

/** Refuses a RoleAssignment that is not the version in `--seen`, if one is given. Throws PlainError. */
export function requireSeen(
  assignment: Pick<AssignmentRow, 'namespace' | 'name' | 'generation' | 'uid'>,
  seen: string | undefined,
): void {
  const version = seenVersion(assignment)
  if (seen === undefined || seen === version) return
  throw new PlainError(
    `RoleAssignment ${assignment.namespace}/${assignment.name} is ${version} now, not the version in --seen: ` +
      'review it again (realmkeeper show)',
  )
}
