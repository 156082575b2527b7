import { expect, test } from 'vitest'
import { HOLD_MILLIS, nextState, STALE_MILLIS, INITIAL_STATE } from '../../../operator/enforcement/gap.ts'
import type { CheckResult, EnforcementState } from '../../../operator/enforcement/gap.ts'
import type { EnforcementRecord, PolicyIdentities } from '../../../store/operator/approval_enforcement.ts'

const ONE: PolicyIdentities = { policy: { uid: 'a', generation: 1 } }
const EDITED: PolicyIdentities = { policy: { uid: 'a', generation: 2 } }
const REPLACED: PolicyIdentities = { policy: { uid: 'b', generation: 1 } }

const passed = (identities = ONE): CheckResult => ({ outcome: 'passed', identities, shipped: {} })
const FAILED: CheckResult = { outcome: 'failed', reason: 'PoliciesDiffer', message: 'gone', isRevealed: false }
const NO_ANSWER: CheckResult = { outcome: 'no_answer', message: 'no connection' }

const RECORD: EnforcementRecord = {
  identities: ONE,
  gapSince: null,
  statusesAgree: true,
  scope: null,
  shipped: {},
  gapRevealed: false,
  enforcedSince: null,
}
const GAP_RECORD: EnforcementRecord = { ...RECORD, gapSince: new Date(0), statusesAgree: false }

const ENFORCED: EnforcementState = { mode: 'enforced', checkedAt: 0 }
const GAP = { mode: 'gap', reason: 'PoliciesDiffer', message: 'gone', isRevealed: false } as const
const passing = (identities = ONE): EnforcementState => ({ ...GAP, passing: { since: 0, identities } })

interface Case {
  state?: EnforcementState
  result: CheckResult
  record?: EnforcementRecord | undefined
  trustExisting?: boolean
  at?: number
}

function verdict({ state = INITIAL_STATE, result, record, trustExisting = false, at = 1_000 }: Case): string {
  const { state: after, action } = nextState(state, result, { record, trustExisting, at })
  const holds = after.mode === 'gap' && after.passing ? ` since ${after.passing.since}` : ''
  return `${after.mode}${holds}, ${action}`
}

test.for<[string, Case, string]>([
  ['at start, the recorded policies', { result: passed(), record: RECORD }, 'enforced, none'],
  ['at start, replaced policies', { result: passed(REPLACED), record: RECORD }, 'gap since 1000, start'],
  ['at start, edited policies', { result: passed(EDITED), record: RECORD }, 'gap since 1000, start'],
  ['at start, an empty record', { result: passed() }, 'gap since 1000, none'],
  ['an empty record with trustExisting', { result: passed(), trustExisting: true }, 'enforced, trust'],
  [
    'trustExisting applies to an empty record only',
    { result: passed(EDITED), record: RECORD, trustExisting: true },
    'gap since 1000, start',
  ],
  [
    'trustExisting does not end a recorded gap',
    { result: passed(), record: GAP_RECORD, trustExisting: true },
    'gap since 1000, none',
  ],
  [
    'trustExisting does not end a gap of this process',
    { state: GAP, result: passed(), trustExisting: true },
    'gap since 1000, none',
  ],
  ['a gap recorded by an earlier process', { result: passed(), record: GAP_RECORD }, 'gap since 1000, none'],
  ['a failed check', { state: ENFORCED, result: FAILED, record: RECORD }, 'gap, start'],
  ['a failed check with an empty record', { result: FAILED }, 'gap, none'],
  [
    'a failed check while checks passed in a gap',
    { state: passing(), result: FAILED, record: GAP_RECORD, at: HOLD_MILLIS },
    'gap, none',
  ],
  [
    'the recorded policies in a gap that is not recorded yet',
    { state: GAP, result: passed(), record: RECORD },
    'gap since 1000, start',
  ],
  [
    'policies removed and installed again',
    { state: ENFORCED, result: passed(REPLACED), record: RECORD },
    'gap since 1000, start',
  ],
  [
    'policies edited and edited back',
    { state: ENFORCED, result: passed(EDITED), record: RECORD },
    'gap since 1000, start',
  ],
  [
    'checks passed for less than ten seconds',
    { state: passing(), result: passed(), record: GAP_RECORD, at: 9_999 },
    'gap since 0, none',
  ],
  [
    'checks passed for ten seconds',
    { state: passing(), result: passed(), record: GAP_RECORD, at: 10_000 },
    'gap since 0, end',
  ],
  [
    'checks passed for ten seconds with an empty record',
    { state: passing(), result: passed(), at: 10_000 },
    'gap since 0, end',
  ],
  [
    'checks passed for ten seconds in a gap that is not recorded yet',
    { state: passing(), result: passed(), record: RECORD, at: 10_000 },
    'gap since 0, start',
  ],
  [
    'policies replaced while checks passed',
    { state: passing(), result: passed(REPLACED), record: GAP_RECORD, at: 10_000 },
    'gap since 10000, none',
  ],
  [
    'no answer while checks passed',
    { state: passing(), result: NO_ANSWER, record: GAP_RECORD, at: 10_000 },
    'gap, none',
  ],
  ['no answer at start', { result: NO_ANSWER, record: RECORD }, 'unchecked, none'],
  ['no answer for a short time', { state: ENFORCED, result: NO_ANSWER, record: RECORD }, 'enforced, none'],
  [
    'no answer for a long time',
    { state: ENFORCED, result: NO_ANSWER, record: RECORD, at: STALE_MILLIS },
    'unchecked, none',
  ],
  [
    'the recorded policies after no answer',
    { state: { mode: 'unchecked', message: '' }, result: passed(), record: RECORD },
    'enforced, none',
  ],
])('%s', ([, given, expected]) => {
  expect(verdict(given)).toBe(expected)
})
