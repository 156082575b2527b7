import { alwaysNeedsDecision } from './expand_roles.ts'
import type { Granted, Outcome, Request, Serving } from './granted.ts'
import type { Assignment, Enforcement, Governance } from './decision.ts'
import { covers, endOf, lastsAsAsked } from './serving.ts'
import type { Kept } from './serving.ts'
import { isOver, secondsAfter } from './time.ts'

/** So many names fit the schema; more approvers than the largest quorum change nothing. */
const MAX_APPROVERS = 32

export interface Weighed {
  outcome?: Outcome
  serving?: Serving
  /** Whether roles were granted now. */
  isNew?: boolean
}

export interface Scales {
  assignment: Assignment
  memory: Granted
  kept: Kept
  denied: boolean
  /** Undefined while something is missing. */
  request: Request | undefined
  governance: Governance | undefined
  approvers: readonly string[]
  enforcement: Enforcement
  now: Date
}

/** The last word on this generation, if it is spoken, and what is to be served. */
export function weigh(scales: Scales): Weighed {
  const { assignment, memory, kept, denied, request, governance, enforcement, now } = scales
  const { serving } = kept
  const asBefore: Weighed = { ...(memory.outcome && { outcome: memory.outcome }), ...(serving && { serving }) }

  if (denied) return { outcome: 'Denied' }
  if (assignment.deleting || memory.outcome) return asBefore
  // What was asked for was given and is over. Its approvals must not give it a second time.
  if (kept.ending === 'Ended' && wasGiven(memory)) return { outcome: 'Ended' }
  if (!request || !governance) return asBefore
  if (isOver(request.expiresAt, now)) return { ...asBefore, outcome: 'Ended' }
  const mayGrant = !enforcement.required || isProving(enforcement)

  if (!needsDecision(request, governance)) {
    if (!mayGrant || (serving && covers(serving, request))) return asBefore
    return { serving: grant(scales, request, { governed: false }), isNew: true }
  }

  if (request.startsOver || isGrantedByDecision(serving, assignment)) return asBefore
  if (isOver(decisionDueBy(request, serving, governance), now)) return { ...asBefore, outcome: 'TimedOut' }
  if (!mayGrant || scales.approvers.length < request.requiredApprovals) return asBefore
  return { serving: grant(scales, request, { governed: true }), isNew: true }
}

/** Whether a decision that is seen now can be told from a forged one. */
export function isProving({ mode }: Enforcement): boolean {
  return mode === 'development' || mode === 'enforced'
}

/** An assignment that lists one role that always needs a decision waits as a whole. */
export function needsDecision({ listedRoles, roles }: Request, { enabled }: Governance): boolean {
  return enabled || [...listedRoles, ...roles].some(alwaysNeedsDecision)
}

/** When an undecided request times out; undefined where nothing waits, or for ever. */
export function decisionDueBy(
  request: Request,
  serving: Serving | undefined,
  governance: Governance,
): string | undefined {
  const { pendingTimeoutSeconds } = governance
  if (pendingTimeoutSeconds === undefined || (serving && covers(serving, request))) return undefined
  return secondsAfter(request.resolvedAt, pendingTimeoutSeconds)
}

export function isGrantedByDecision(serving: Serving | undefined, { generation }: Assignment): boolean {
  return serving?.generation === generation && serving.governed
}

/** Also where a former generation's grant gave all that the present one asks for. */
function wasGiven(memory: Granted): boolean {
  const { serving, generation } = memory
  if (!serving) return false
  return serving.generation === generation || (memory.resolvedAt !== undefined && covers(serving, memory))
}

function grant(scales: Scales, request: Request, { governed }: { governed: boolean }): Serving {
  const { assignment, kept, now } = scales
  const { realmUID, subjectUID, sub, roles } = request
  // Within one generation the time runs from the first grant, also when approvers confirm it or composites grow.
  const running = kept.serving?.generation === assignment.generation && lastsAsAsked(kept.serving, request)
  const grantedAt = running && kept.serving ? kept.serving.grantedAt : now.toISOString()
  const expiresAt = endOf(request, grantedAt)
  return {
    generation: assignment.generation,
    realmUID,
    ...(subjectUID !== undefined && { subjectUID }),
    ...(sub !== undefined && { sub }),
    roles,
    grantedAt,
    ...(expiresAt !== undefined && { expiresAt }),
    governed,
    approvers: governed ? scales.approvers.slice(0, MAX_APPROVERS) : [],
  }
}
