import type { ConditionState, RoleAssignmentResource } from '../view/resource_types.ts'

/** Whether what approvers may write is held by admission policies. */
export interface ApprovalEnforcement {
  /**
   * `enforced`: policies were proven to act. `gap`: they are known not to. `unchecked`: nothing is known just now.
   * `development`: there are none, and requester and quorum rules run here.
   */
  mode: 'enforced' | 'gap' | 'unchecked' | 'development'
  /** Grant nothing new unless `enforced`. */
  required: boolean
  /** For the condition `ApprovalEnforced`. */
  reason: string
  message: string
  /** Whether `status.granted` can have been written by nobody but the operator, and stands in for a row that is lost. */
  statusTrusted: boolean
  /**
   * Looks again before something is granted or recorded because of what stands in `resource`: at the policies and at
   * the object, by reads that begin after this call. The answer is `enforced`, `gap` or `development`. Throws NotYet
   * while there is no answer, and when the object is not any more what was read.
   */
  prove(resource: RoleAssignmentResource): Promise<ApprovalEnforcement>
}

/** Resources from files: nobody but the operator looks at who decides. */
export const DEVELOPMENT: ApprovalEnforcement = {
  mode: 'development',
  required: false,
  reason: 'Development',
  message: 'resources come from files: the operator itself holds the rules on who decides, and names are claims',
  statusTrusted: true,
  prove: async () => DEVELOPMENT,
}

/** The condition `ApprovalEnforced` of a Realm. */
export function enforcementCondition({
  mode,
  reason,
  message,
}: Pick<ApprovalEnforcement, 'mode' | 'reason' | 'message'>): ConditionState {
  return { type: 'ApprovalEnforced', status: mode === 'enforced' ? 'True' : 'False', reason, message }
}
