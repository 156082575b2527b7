import type { EnforcementRecord } from '../../store/operator/approval_enforcement.ts'
import type { CheckResult, NextState, Passed } from './gap.ts'
import type { Scope } from './scope.ts'

/** The record to save after a check; undefined when it stays. */
export function nextRecord(
  { state, action }: NextState,
  result: CheckResult,
  { record, scope, now }: { record: EnforcementRecord | undefined; scope: Scope; now: Date },
): EnforcementRecord | undefined {
  if (action === 'start' && record) {
    const gapRevealed = state.mode === 'gap' && state.isRevealed
    return { ...record, gapSince: record.gapSince ?? now, gapRevealed, statusesAgree: false }
  }
  if (result.outcome !== 'passed') return undefined
  const proof = proofOf(result, scope)
  if (action === 'trust') return { ...proof, statusesAgree: true, enforcedSince: now }
  if (action === 'continue') {
    return { ...proof, statusesAgree: record?.statusesAgree === true, enforcedSince: record?.enforcedSince ?? now }
  }
  return action === 'end' ? { ...proof, statusesAgree: false, enforcedSince: now } : undefined
}

function proofOf({ identities, shipped }: Passed, scope: Scope) {
  return { identities, shipped, gapSince: null, gapRevealed: false, scope }
}
