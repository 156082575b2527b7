import type { Assignment, Enforcement, RecordedDecision } from './decision.ts'
import { MAX_UNCOUNTED } from './granted.ts'
import type { Granted, UncountedApproval } from './granted.ts'
import { covers, nameKey } from './status_decisions.ts'
import type { SpecState } from './spec_state.ts'
import type { StatusDecision } from './status_decisions.ts'
import { writerKeys } from './writers.ts'
import type { Writers } from './writers.ts'

export interface TallyInput {
  assignment: Pick<Assignment, 'uid' | 'generation'> & Writers
  /** From status, of every uid and generation. */
  decisions: readonly StatusDecision[]
  /** Recorded for this uid. */
  recorded: readonly RecordedDecision[]
  /** The stored state at this generation. */
  granted: Granted
  spec: SpecState
  enforcement: Enforcement
  realmFound: boolean
  /** Whether realm, subject and roles are all found. */
  resolved: boolean
}

/** The decisions on the present uid and generation. A name counts once, in any letter case. */
export interface Tally {
  /** Whose approvals count. */
  approvers: string[]
  deniedBy: string[]
  /** To record. */
  newDecisions: StatusDecision[]
  /** Approvals that wait until the operator has checked the admission policies. */
  unverified: string[]
  /** Approvals that do not count, and those among them that were not stored before. */
  uncounted: UncountedApproval[]
  newlyUncounted: UncountedApproval[]
  /** For `status.granted.uncounted`: also approvals of later generations. */
  toStore: UncountedApproval[]
}

/**
 * Counts the decisions on one generation, without those of the accounts that wrote the request. Denied counts without
 * proof of its author: granting less than requested is safe.
 */
export function tally(input: TallyInput): Tally {
  const { assignment, granted, recorded } = input
  const { generation } = assignment
  const writers = writerKeys(assignment)
  const byOthers = (decision: Named): boolean => !writers.has(keyOf(decision))

  const written = input.decisions.filter((decision) => covers(decision, assignment) && byOthers(decision))
  const known = recorded.filter((row) => row.generation === generation && byOthers(row))
  const names = byName<Named>([...known, ...written])
  const denials = new Set([...known, ...written].filter(isDenied).map(keyOf))
  const knownKeys = new Set(known.map(keyOf))
  const knownDenials = new Set(known.filter(isDenied).map(keyOf))

  const stored = storedUncounted(granted, recorded)
  const uncounted = new Map(stored)
  const counted = new Set(known.filter((row) => !isDenied(row) && !stored.has(keyOf(row))).map(keyOf))
  const newDecisions: StatusDecision[] = []
  const unverified: string[] = []

  // With a full list of uncounted approvals, the operator can no longer tell which further approval counts.
  const isFull = stored.size >= MAX_UNCOUNTED
  for (const [key, decision] of byName(written.filter((one) => !isDenied(one)))) {
    if (isFull || denials.has(key) || knownKeys.has(key)) continue
    const { approver } = decision
    const effect = effectOfApproval(stored.get(key)?.reason, input)
    if (effect === 'record') newDecisions.push(decision)
    if (effect === 'record' || effect === 'count') counted.add(key)
    if (effect === 'wait') unverified.push(approver)
    // An approval that counts in a gap counts only until the gap ends.
    if (effect === 'count') uncounted.set(key, { approver, generation, reason: 'DecisionUnproven' })
    if (effect === 'DecidedTooEarly' || effect === 'DecisionUnproven') {
      uncounted.set(key, { approver, generation, reason: effect })
    }
  }
  for (const [key, decision] of byName(written.filter(isDenied))) {
    if (knownDenials.has(key)) continue
    if (isProvenDenial(stored.get(key)?.reason, input)) newDecisions.push(decision)
    else if (input.enforcement.mode === 'gap') {
      uncounted.set(key, { approver: decision.approver, generation, reason: 'DecisionUnproven' })
    }
  }

  return {
    approvers: spelled(counted, names),
    deniedBy: spelled(denials, names),
    newDecisions,
    unverified,
    uncounted: withoutKeys(uncounted, denials),
    newlyUncounted: withoutKeys(uncounted, new Set([...denials, ...stored.keys()])),
    toStore: [...uncounted.values(), ...approvalsAhead(input)].slice(0, MAX_UNCOUNTED),
  }
}

/** What an approval that is not recorded yet does: it counts, waits, is ignored, or does not count from now on. */
function effectOfApproval(
  reason: UncountedApproval['reason'] | undefined,
  { granted, spec, resolved, enforcement }: TallyInput,
): 'record' | 'count' | 'wait' | 'ignore' | UncountedApproval['reason'] {
  if (reason === 'DecidedTooEarly') return 'ignore'
  if (granted.resolvedAt === undefined && !resolved) return reason ? 'ignore' : 'DecidedTooEarly'
  if (spec === 'unproven') return reason ? 'ignore' : 'DecisionUnproven'
  if (enforcement.mode === 'gap') {
    if (!enforcement.required) return 'count'
    return reason ? 'ignore' : 'DecisionUnproven'
  }
  if (reason === 'DecisionUnproven') return 'ignore'
  return resolved && spec === 'proven' && enforcement.mode !== 'unchecked' ? 'record' : 'wait'
}

/** A denial first seen in a gap denies the request, but is not recorded under the name that it carries. */
function isProvenDenial(
  reason: UncountedApproval['reason'] | undefined,
  { realmFound, enforcement }: TallyInput,
): boolean {
  return realmFound && reason !== 'DecisionUnproven' && ['development', 'enforced'].includes(enforcement.mode)
}

/**
 * Stored approvals of this generation that do not count, by name. A recorded approval whose request is not stored is
 * one of them: what it covered is unknown.
 */
function storedUncounted(
  { generation, resolvedAt, uncounted = [] }: Granted,
  recorded: readonly RecordedDecision[],
): ReadonlyMap<string, UncountedApproval> {
  const withoutRequest = recorded
    .filter((row) => resolvedAt === undefined && row.generation === generation && !isDenied(row))
    .map(({ approver }): UncountedApproval => ({ approver, generation, reason: 'DecisionUnproven' }))
  const stored = uncounted.filter((approval) => approval.generation === generation)
  return new Map([...withoutRequest, ...stored].map((approval) => [keyOf(approval), approval]))
}

/**
 * Approvals of later generations, which must not count when their generation comes. Admission refuses such approvals, so
 * they bypassed it, or the cluster was restored from a backup. They are stored only while they are in status.
 */
function approvalsAhead({ assignment, decisions, recorded }: TallyInput): UncountedApproval[] {
  const { uid, generation } = assignment
  const onThisObject = decisions
    .filter(({ observedUID }) => observedUID === uid)
    .map((decision) => ({ ...decision, generation: decision.observedGeneration }))
  const ahead = [...onThisObject, ...recorded]
    .filter((decision) => !isDenied(decision) && decision.generation > generation)
    .map(({ approver, generation }): UncountedApproval => ({ approver, generation, reason: 'DecidedTooEarly' }))
    .toSorted((one, other) => one.generation - other.generation)
  return [...new Map(ahead.map((approval) => [`${approval.generation} ${keyOf(approval)}`, approval])).values()]
}

interface Named {
  approver: string
}

function keyOf({ approver }: Named): string {
  return nameKey(approver)
}

function isDenied({ decision }: { decision: string }): boolean {
  return decision === 'Denied'
}

/** One decision per name; which one does not depend on their order. */
function byName<Decision extends Named>(list: readonly Decision[]): Map<string, Decision> {
  const sorted = list.toSorted((one, other) => (one.approver < other.approver ? 1 : -1))
  return new Map(sorted.map((decision) => [keyOf(decision), decision]))
}

function spelled(keys: Iterable<string>, names: ReadonlyMap<string, Named>): string[] {
  return [...keys].map((key) => names.get(key)?.approver ?? key).toSorted()
}

function withoutKeys(
  approvals: ReadonlyMap<string, UncountedApproval>,
  keys: ReadonlySet<string>,
): UncountedApproval[] {
  return [...approvals].filter(([key]) => !keys.has(key)).map(([, approval]) => approval)
}
