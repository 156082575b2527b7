import type { ApprovalEnforcement } from './approval_enforcement.ts'
import type { Standing } from './judge.ts'

/** A standing in the words of the condition `ApprovalEnforced`. */
export function said(standing: Standing): Pick<ApprovalEnforcement, 'mode' | 'reason' | 'message'> {
  if (standing.mode === 'gap') return { mode: 'gap', reason: standing.reason, message: standing.message }
  if (standing.mode === 'unchecked') return { mode: 'unchecked', reason: 'Unchecked', message: standing.message }
  return {
    mode: 'enforced',
    reason: 'Enforced',
    message: 'the admission policies are as shipped, and refuse decisions by who may not decide',
  }
}
