import { isDeepStrictEqual } from 'node:util'
import type { EnforcementRecord, PolicyIdentities } from '../../store/operator/approval_enforcement.ts'
import { shippedSet } from './release/shipped_set.ts'
import type { ShippedSet } from './release/shipped_set.ts'
import { isContinuous } from './release/continuity.ts'

/** The result of one check of the admission policies. */
export type CheckResult =
  /** The API server did not answer; nothing is known about the policies. */
  | { outcome: 'no_answer'; message: string }
  /**
   * A policy, binding or CRD is missing or changed, or the probe was not refused. `isRevealed`: uids and generations show
   * later what happened, because every object is present.
   */
  | { outcome: 'failed'; reason: FailureReason; message: string; isRevealed: boolean }
  | { outcome: 'passed'; identities: PolicyIdentities; shipped: Record<string, string> }

export type Passed = Extract<CheckResult, { outcome: 'passed' }>

export type FailureReason = 'PoliciesDiffer' | 'AccessDenied' | 'DecisionsNotRefused'

/** What this process knows about enforcement. Times are milliseconds of a clock for differences. */
export type EnforcementState =
  | { mode: 'unchecked'; message: string }
  | { mode: 'enforced'; checkedAt: number }
  | { mode: 'gap'; reason: FailureReason | 'RecentlyChanged'; message: string; isRevealed: boolean; passing?: Passing }

/** In a gap: since when all checks have passed, and with which policies. */
interface Passing {
  since: number
  identities: PolicyIdentities
}

export interface NextState {
  state: EnforcementState
  action: GapAction
}

/** What the check has to store. */
type GapAction =
  | 'none'
  /** The start of the gap, so that a process that starts later continues it. */
  | 'start'
  /** All present decisions as unproven, then, after one more check, the end of the gap and these identities. */
  | 'end'
  /** These identities at once: `--trust-existing-decisions`. */
  | 'trust'
  /** These identities, and no gap: the recorded rules were in force all the time (`release/`). */
  | 'continue'

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
 * record (unless `trustExisting`). It ends when all checks have passed for ten seconds, and at once when it proves to be
 * an upgrade.
 */
export function nextState(
  state: EnforcementState,
  result: CheckResult,
  {
    record,
    trustExisting,
    set = shippedSet(),
    at,
  }: { record: EnforcementRecord | undefined; trustExisting: boolean; set?: ShippedSet; at: number },
): NextState {
  if (result.outcome === 'no_answer') return { state: withoutAnswer(state, result.message, at), action: 'none' }
  const isUnrecorded = record !== undefined && !record.gapSince
  const wasRevealed = state.mode !== 'gap' || state.isRevealed
  if (result.outcome === 'failed') {
    const { reason, message } = result
    const isRevealed = result.isRevealed && wasRevealed
    const isNew = isUnrecorded || (record?.gapRevealed === true && !isRevealed)
    return { state: { mode: 'gap', reason, message, isRevealed }, action: isNew ? 'start' : 'none' }
  }

  const { identities } = result
  if (state.mode !== 'gap') {
    if (isUnrecorded && isDeepStrictEqual(record.identities, identities)) {
      return { state: { mode: 'enforced', checkedAt: at }, action: 'none' }
    }
    if (!record && trustExisting) return { state: { mode: 'enforced', checkedAt: at }, action: 'trust' }
  }
  const isRevealed = wasRevealed && (isUnrecorded || record?.gapRevealed === true)
  if (isRevealed && record && isContinuous(record, result, set)) {
    return { state: { mode: 'enforced', checkedAt: at }, action: 'continue' }
  }
  const before = state.mode === 'gap' ? state.passing : undefined
  const isSame = before !== undefined && isDeepStrictEqual(before.identities, identities)
  const passing = isSame ? before : { since: at, identities }
  const isOver = at - passing.since >= HOLD_MILLIS
  return {
    state: { mode: 'gap', reason: 'RecentlyChanged', message: recentlyChanged(record), isRevealed: false, passing },
    action: isUnrecorded || record?.gapRevealed ? 'start' : isOver ? 'end' : 'none',
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
    ? 'the admission policies or the watched namespaces changed since the last check, or etcd was restored'
    : 'the admission policies are new'
  return `${what}: the operator relies on them after ${HOLD_MILLIS / 1_000} seconds; requests and approvals written before that do not count`
}
