import type { Observation } from './resource_types.ts'

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
}

/** Resources from files: nobody but the operator looks at who decides. */
export const DEVELOPMENT: ApprovalEnforcement = {
  mode: 'development',
  required: false,
  reason: 'Development',
  message: 'resources come from files: the operator itself holds the rules on who decides, and names are claims',
}

/** The condition `ApprovalEnforced` of a Realm. */
export function enforcementCondition({ mode, reason, message }: ApprovalEnforcement): Observation {
  return { type: 'ApprovalEnforced', status: mode === 'enforced' ? 'True' : 'False', reason, message }
}
