import type { Observation } from './resource_types.ts'

/** Whether what approvers may write is held by admission policies. */
export interface ApprovalEnforcement {
  /** `enforced`: policies were proven to act. `development`: there are none, and requester and quorum rules run here. */
  state: 'enforced' | 'unproven' | 'development'
  /** For the condition `ApprovalEnforced`. */
  reason: string
  message: string
}

/** Resources from files: nobody but the operator looks at who decides. */
export const DEVELOPMENT: ApprovalEnforcement = {
  state: 'development',
  reason: 'Development',
  message: 'resources come from files: the operator itself holds the rules on who decides, and names are claims',
}

/** The condition `ApprovalEnforced` of a Realm. */
export function enforcementCondition({ state, reason, message }: ApprovalEnforcement): Observation {
  return { type: 'ApprovalEnforced', status: state === 'enforced' ? 'True' : 'False', reason, message }
}
