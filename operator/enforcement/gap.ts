import { isDeepStrictEqual } from 'node:util'
import type { EnforcementRecord, PolicyIdentities } from '../../store/operator/approval_enforcement.ts'

/** The result of one check of the admission policies. */
export type CheckResult =
  /** The API server did not answer; nothing is known about the policies. */
  | { outcome: 'no_answer'; message: string }
  /** A policy, binding or CRD is missing or changed, or the probe was not refused. */
  | { outcome: 'failed'; reason: FailureReason; message: string }
  | { outcome: 'passed'; identities: PolicyIdentities }

export type FailureReason = 'PoliciesDiffer' | 'AccessDenied' | 'DecisionsNotRefused'

/** What this process knows about enforcement. Times are milliseconds of a clock for differences. */
export type EnforcementState =
  | { mode: 'unchecked'; message: string }
  | { mode: 'enforced'; checkedAt: number }
  | { mode: 'gap'; reason: FailureReason | 'RecentlyChanged'; message: string; passing?: Passing }

/** In a gap: since when all checks have passed, and with which policies. */
interface Passing {
  since: number
  identities: PolicyIdentities
}

/** What the check has to store. */
export type GapAction =
  | 'none'
  /** The start of the gap, so that a process that starts later continues it. */
  | 'start'
  /** All present decisions as unproven, then, after one more check, the end of the gap and these identities. */
  | 'end'
  /** These identities at once: `--trust-existing-decisions`. */
  | 'trust'

/** Each API server applies a policy independently, within about a second. */
export const HOLD_MILLIS = 10_000
/** More than two check intervals. */
export const STALE_MILLIS = 150_000

export const INITIAL_STATE: EnforcementState = {
  mode: 'unchecked',
  message: 'the operator has not checked the admission policies yet',
}

/**
 * The state after a check. A gap starts with any difference from the record, with a failed check, and with an empty
 * record (unless `trustExisting`). It ends when all checks have passed for ten seconds.
 */
export function nextState(
  state: EnforcementState,
  result: CheckResult,
  { record, trustExisting, at }: { record: EnforcementRecord | undefined; trustExisting: boolean; at: number },
): { state: EnforcementState; action: GapAction } {
  if (result.outcome === 'no_answer') return { state: withoutAnswer(state, result.message, at), action: 'none' }
  const isUnrecorded = record !== undefined && !record.gapSince
  if (result.outcome === 'failed') {
    const { reason, message } = result
    return { state: { mode: 'gap', reason, message }, action: isUnrecorded ? 'start' : 'none' }
  }

  const { identities } = result
  if (state.mode !== 'gap') {
    if (isUnrecorded && isDeepStrictEqual(record.identities, identities)) {
      return { state: { mode: 'enforced', checkedAt: at }, action: 'none' }
    }
    if (!record && trustExisting) return { state: { mode: 'enforced', checkedAt: at }, action: 'trust' }
  }
  const before = state.mode === 'gap' ? state.passing : undefined
  const isSame = before !== undefined && isDeepStrictEqual(before.identities, identities)
  const passing = isSame ? before : { since: at, identities }
  const isOver = at - passing.since >= HOLD_MILLIS
  return {
    state: { mode: 'gap', reason: 'RecentlyChanged', message: recentlyChanged(record), passing },
    action: isUnrecorded ? 'start' : isOver ? 'end' : 'none',
  }
}

/**
 * Uids and generations prove continuity, so a short time without an answer leaves the mode `enforced`. In a gap the ten
 * seconds start again.
 */
function withoutAnswer(state: EnforcementState, message: string, at: number): EnforcementState {
  if (state.mode === 'gap') {
    const { passing: _, ...gap } = state
    return gap
  }
  if (state.mode === 'enforced' && at - state.checkedAt < STALE_MILLIS) return state
  return { mode: 'unchecked', message }
}

function recentlyChanged(record: EnforcementRecord | undefined): string {
  const what = record
    ? 'the admission policies or the watched namespaces changed since the last check'
    : 'the admission policies are new'
  return `${what}: the operator relies on them after ${HOLD_MILLIS / 1_000} seconds; requests and approvals written before that do not count`
}
