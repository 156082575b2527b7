import { expect, test } from 'vitest'
import { HOLD_MILLIS, judge, STALE_MILLIS, UNKNOWN } from '../../../operator/enforcement/judge.ts'
import type { Finding, Standing } from '../../../operator/enforcement/judge.ts'
import type { EnforcementRecord, PolicyIdentities } from '../../../store/approval_enforcement.ts'

const ONE: PolicyIdentities = { policy: { uid: 'a', generation: 1 } }
const EDITED: PolicyIdentities = { policy: { uid: 'a', generation: 2 } }
const REPLACED: PolicyIdentities = { policy: { uid: 'b', generation: 1 } }

const good = (identities = ONE): Finding => ({ outcome: 'good', identities })
const BAD: Finding = { outcome: 'bad', reason: 'PoliciesDiffer', message: 'gone' }
const SILENCE: Finding = { outcome: 'no_answer', message: 'no connection' }

const RECORD: EnforcementRecord = { identities: ONE, gapSince: null, statusesAgree: true }
const GAP_RECORD: EnforcementRecord = { ...RECORD, gapSince: new Date(0), statusesAgree: false }

const ENFORCED: Standing = { mode: 'enforced', provenAt: 0 }
const GAP: Standing = { mode: 'gap', reason: 'PoliciesDiffer', message: 'gone' }
const held = (identities = ONE): Standing => ({ ...GAP, holding: { since: 0, identities } })

interface Case {
  standing?: Standing
  finding: Finding
  record?: EnforcementRecord | undefined
  trustExisting?: boolean
  at?: number
}

function verdict({ standing = UNKNOWN, finding, record, trustExisting = false, at = 1_000 }: Case): string {
  const { standing: after, act } = judge(standing, finding, { record, trustExisting, at })
  const holds = after.mode === 'gap' && after.holding ? ` since ${after.holding.since}` : ''
  return `${after.mode}${holds}, ${act}`
}

test.for<[string, Case, string]>([
  ['at the start, as remembered', { finding: good(), record: RECORD }, 'enforced, none'],
  ['at the start, with other policies', { finding: good(REPLACED), record: RECORD }, 'gap since 1000, open'],
  ['at the start, with edited policies', { finding: good(EDITED), record: RECORD }, 'gap since 1000, open'],
  ['at the start, with an empty record', { finding: good() }, 'gap since 1000, none'],
  ['an empty record that is trusted', { finding: good(), trustExisting: true }, 'enforced, trust'],
  [
    'trust is for an empty record',
    { finding: good(EDITED), record: RECORD, trustExisting: true },
    'gap since 1000, open',
  ],
  ['trust does not end a gap', { finding: good(), record: GAP_RECORD, trustExisting: true }, 'gap since 1000, none'],
  ['trust is not for a gap seen', { standing: GAP, finding: good(), trustExisting: true }, 'gap since 1000, none'],
  ['a gap of a former process', { finding: good(), record: GAP_RECORD }, 'gap since 1000, none'],
  ['something bad', { standing: ENFORCED, finding: BAD, record: RECORD }, 'gap, open'],
  ['something bad, and nothing remembered', { finding: BAD }, 'gap, none'],
  ['something bad again', { standing: held(), finding: BAD, record: GAP_RECORD, at: HOLD_MILLIS }, 'gap, none'],
  [
    'the same policies, refused a moment ago',
    { standing: GAP, finding: good(), record: RECORD },
    'gap since 1000, open',
  ],
  ['removed and put back', { standing: ENFORCED, finding: good(REPLACED), record: RECORD }, 'gap since 1000, open'],
  ['edited and edited back', { standing: ENFORCED, finding: good(EDITED), record: RECORD }, 'gap since 1000, open'],
  [
    'held, but not long enough',
    { standing: held(), finding: good(), record: GAP_RECORD, at: 9_999 },
    'gap since 0, none',
  ],
  ['held for ten seconds', { standing: held(), finding: good(), record: GAP_RECORD, at: 10_000 }, 'gap since 0, end'],
  ['held with an empty record', { standing: held(), finding: good(), at: 10_000 }, 'gap since 0, end'],
  [
    'ten seconds, but a gap that is not written down yet',
    { standing: held(), finding: good(), record: RECORD, at: 10_000 },
    'gap since 0, open',
  ],
  [
    'replaced while it held',
    { standing: held(), finding: good(REPLACED), record: GAP_RECORD, at: 10_000 },
    'gap since 10000, none',
  ],
  ['silence while it held', { standing: held(), finding: SILENCE, record: GAP_RECORD, at: 10_000 }, 'gap, none'],
  ['silence at the start', { finding: SILENCE, record: RECORD }, 'unchecked, none'],
  ['a short silence', { standing: ENFORCED, finding: SILENCE, record: RECORD }, 'enforced, none'],
  ['a long silence', { standing: ENFORCED, finding: SILENCE, record: RECORD, at: STALE_MILLIS }, 'unchecked, none'],
  [
    'after a silence, as remembered',
    { standing: { mode: 'unchecked', message: '' }, finding: good(), record: RECORD },
    'enforced, none',
  ],
])('%s', ([, given, expected]) => {
  expect(verdict(given)).toBe(expected)
})
