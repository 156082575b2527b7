import { nameKey } from './approver_name.ts'
import { MAX_UNCOUNTED } from './granted.ts'
import type { Granted, Uncounted } from './granted.ts'
import type { Assignment, Enforcement, RecordedDecision } from './decision.ts'
import type { StatusDecision } from './status_decisions.ts'
import { remembered, setAsideSoFar } from './uncounted.ts'
import type { SetAside } from './uncounted.ts'

export interface Ballot {
  assignment: Assignment
  stated: readonly StatusDecision[]
  /** Of this uid. */
  recorded: readonly RecordedDecision[]
  /** Of this generation. */
  memory: Granted
  enforcement: Enforcement
  realmKnown: boolean
  /** Whether realm, subject and roles are all there. */
  resolved: boolean
}

/** What was said about the present uid and generation, and what of it counts. */
export interface Tally {
  /** Who approved and counts; a name once, whatever its spelling. */
  approvers: string[]
  deniedBy: string[]
  record: StatusDecision[]
  /** What to remember as not counting. */
  uncounted: Uncounted[]
  /** Approvals of this generation that do not count, and those of them that are new. */
  setAside: Uncounted[]
  newlySetAside: Uncounted[]
  /** Approvals that wait until somebody could look at admission. */
  waiting: string[]
}

type Fate = 'count' | 'record' | 'wait' | 'ignore' | Uncounted['reason']

/** Hears every approver but the requester. Denied is heard whatever its proof: refusing more than asked is safe. */
export function tally(ballot: Ballot): Tally {
  const { assignment, memory, recorded } = ballot
  const { generation } = assignment
  const requester = nameKey(assignment.requestedBy)
  const isOthers = ({ approver }: { approver: string }) => nameKey(approver) !== requester

  const onThisObject = ballot.stated.filter(({ observedUID }) => observedUID === assignment.uid)
  const said = onThisObject.filter((one) => one.observedGeneration === generation && isOthers(one))
  const known = recorded.filter((row) => row.generation === generation && isOthers(row))

  const everybody = byName<{ approver: string }>([...known, ...said])
  const denials = new Set([...known, ...said].filter(({ decision }) => decision === 'Denied').map(keyOf))
  const knownKeys = new Set(known.map(keyOf))
  const knownDenials = new Set(known.filter(({ decision }) => decision === 'Denied').map(keyOf))
  const before = setAsideSoFar(memory, recorded)
  const setAside = new Map(before)
  // With more set aside than can be remembered, nobody can tell any more who is not among them.
  const full = before.size >= MAX_UNCOUNTED
  const counted = new Set(known.filter(({ decision }) => decision === 'Approved').map(keyOf))
  const record: StatusDecision[] = []
  const waiting: string[] = []

  for (const key of before.keys()) counted.delete(key)
  for (const [key, decision] of byName(said.filter(({ decision }) => decision === 'Approved'))) {
    if (full || denials.has(key) || knownKeys.has(key)) continue
    const fate = approvalsFate(before.get(key)?.reason, ballot)
    if (fate === 'record') record.push(decision)
    if (fate === 'record' || fate === 'count') counted.add(key)
    if (fate === 'wait') waiting.push(decision.approver)
    // What counts without proof is remembered as unproven all the same: it counts no longer than the gap lasts.
    if (fate === 'count') setAside.set(key, { approver: decision.approver, generation, reason: 'DecisionUnproven' })
    if (isReason(fate)) setAside.set(key, { approver: decision.approver, generation, reason: fate })
  }
  for (const [key, decision] of byName(said.filter(({ decision }) => decision === 'Denied'))) {
    if (knownDenials.has(key)) continue
    if (denialIsProven(before.get(key)?.reason, ballot)) record.push(decision)
    else if (ballot.enforcement.mode === 'gap') {
      setAside.set(key, { approver: decision.approver, generation, reason: 'DecisionUnproven' })
    }
  }

  return {
    approvers: spelled(counted, everybody),
    deniedBy: spelled(denials, everybody),
    record,
    uncounted: remembered(setAside, generation, onThisObject, recorded),
    setAside: withoutKeys(setAside, denials),
    newlySetAside: withoutKeys(setAside, new Set([...denials, ...before.keys()])),
    waiting,
  }
}

function approvalsFate(reason: Uncounted['reason'] | undefined, { memory, resolved, enforcement }: Ballot): Fate {
  if (reason === 'DecidedTooEarly') return 'ignore'
  if (memory.resolvedAt === undefined && !resolved) return reason ? 'ignore' : 'DecidedTooEarly'
  if (enforcement.mode === 'gap') return enforcement.required ? (reason ? 'ignore' : 'DecisionUnproven') : 'count'
  if (reason === 'DecisionUnproven') return 'ignore'
  return resolved && enforcement.mode !== 'unchecked' ? 'record' : 'wait'
}

/** One that is first seen in a gap denies, but is not put on record as its author's. */
function denialIsProven(reason: Uncounted['reason'] | undefined, { realmKnown, enforcement }: Ballot): boolean {
  return realmKnown && reason !== 'DecisionUnproven' && ['development', 'enforced'].includes(enforcement.mode)
}

function isReason(fate: Fate): fate is Uncounted['reason'] {
  return fate === 'DecidedTooEarly' || fate === 'DecisionUnproven'
}

function keyOf({ approver }: { approver: string }): string {
  return nameKey(approver)
}

/** One of each name, the same one in whatever order they come. */
function byName<Named extends { approver: string }>(list: readonly Named[]): Map<string, Named> {
  const sorted = list.toSorted((one, other) => (one.approver < other.approver ? 1 : -1))
  return new Map(sorted.map((named) => [nameKey(named.approver), named]))
}

function spelled(keys: Iterable<string>, everybody: ReadonlyMap<string, { approver: string }>): string[] {
  return [...keys].map((key) => everybody.get(key)?.approver ?? key).toSorted()
}

function withoutKeys(marks: SetAside, others: ReadonlySet<string>): Uncounted[] {
  return [...marks].filter(([key]) => !others.has(key)).map(([, mark]) => mark)
}
