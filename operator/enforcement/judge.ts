import { isDeepStrictEqual } from 'node:util'
import type { EnforcementRecord, PolicyIdentities } from '../../store/approval_enforcement.ts'

/** What one look at the API server told. */
export type Finding =
  /** It did not answer: that says nothing about policies. */
  | { outcome: 'no_answer'; message: string }
  /** Something is missing, changed or does not act. */
  | { outcome: 'bad'; reason: BadReason; message: string }
  /** Everything is as shipped, and a trial was refused, or there is nothing to try on. */
  | { outcome: 'good'; identities: PolicyIdentities }

export type BadReason = 'PoliciesDiffer' | 'AccessDenied' | 'DecisionsNotRefused'

/** What is known of the policies at a moment. Times are of a clock whose differences alone mean something. */
export type Standing =
  | { mode: 'unchecked'; message: string }
  | { mode: 'enforced'; provenAt: number }
  | { mode: 'gap'; reason: BadReason | 'RecentlyChanged'; message: string; holding?: Holding }

/** In a gap: since when everything has been good again, and what with. */
interface Holding {
  since: number
  identities: PolicyIdentities
}

/** What has to be done about it. */
export type Act =
  | 'none'
  /** Write down that a gap began: a process that starts later must not take it for over. */
  | 'open'
  /** Set aside every decision that is there, look once more, and then remember these identities. */
  | 'end'
  /** Remember these identities at once: existing decisions were said to be trusted. */
  | 'trust'

export interface Judgement {
  standing: Standing
  act: Act
}

/** Each API server learns of a policy by itself, within about a second. */
export const HOLD_MILLIS = 10_000
/** A check that stays without an answer for longer than a missed one says nothing any more. */
export const STALE_MILLIS = 150_000

/** The standing of a process that has not looked yet. */
export const UNKNOWN: Standing = { mode: 'unchecked', message: 'the admission policies have not been looked at yet' }

/**
 * What a finding changes. A gap is any difference from what is remembered, anything bad, or no memory at all (unless
 * `trustExisting`); it ends when everything has held for ten seconds.
 */
export function judge(
  standing: Standing,
  finding: Finding,
  { record, trustExisting, at }: { record: EnforcementRecord | undefined; trustExisting: boolean; at: number },
): Judgement {
  if (finding.outcome === 'no_answer') return { standing: withoutAnswer(standing, finding.message, at), act: 'none' }
  const opens: Act = record && !record.gapSince ? 'open' : 'none'
  if (finding.outcome === 'bad') {
    return { standing: { mode: 'gap', reason: finding.reason, message: finding.message }, act: opens }
  }

  const { identities } = finding
  if (standing.mode !== 'gap') {
    if (record && !record.gapSince && isDeepStrictEqual(record.identities, identities)) {
      return { standing: { mode: 'enforced', provenAt: at }, act: 'none' }
    }
    if (!record && trustExisting) return { standing: { mode: 'enforced', provenAt: at }, act: 'trust' }
  }
  const before = standing.mode === 'gap' ? standing.holding : undefined
  const isSame = before !== undefined && isDeepStrictEqual(before.identities, identities)
  const holding = isSame ? before : { since: at, identities }
  const isOver = at - holding.since >= HOLD_MILLIS
  return {
    standing: { mode: 'gap', reason: 'RecentlyChanged', message: recentlyChanged(record), holding },
    act: opens === 'open' ? 'open' : isOver ? 'end' : 'none',
  }
}

/** Continuity is told by uids and generations, so a short silence changes nothing; the ten seconds begin anew. */
function withoutAnswer(standing: Standing, message: string, at: number): Standing {
  if (standing.mode === 'gap') {
    const { holding: _, ...gap } = standing
    return gap
  }
  if (standing.mode === 'enforced' && at - standing.provenAt < STALE_MILLIS) return standing
  return { mode: 'unchecked', message }
}

function recentlyChanged(record: EnforcementRecord | undefined): string {
  const what = record ? 'the admission policies are not the ones that were proven before' : 'nothing was proven before'
  return `${what}: in ${HOLD_MILLIS / 1_000} seconds they are taken for in force; what was approved until then does not count`
}
