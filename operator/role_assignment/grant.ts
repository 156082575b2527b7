import { alwaysNeedsDecision, expandRoles } from '../realm/expand_roles.ts'
import type { Assignment, Enforcement, Governance, RecordedDecision } from './decision.ts'
import type { Grant, Granted, Outcome, Request } from './granted.ts'
import { sameIds } from './request.ts'
import type { Realm, Resolution } from './request.ts'
import type { StatusDecision } from './status_decisions.ts'
import { earlier, isOver, millis, secondsAfter } from './time.ts'

/** Why a grant ended as a whole. */
export type EndCause = 'Deleted' | 'Denied' | 'RealmReplaced' | 'SubjectReplaced' | 'Ended'

/** The part of an earlier grant that stays. */
export type RemainingGrant = { grant: Grant; ended?: undefined } | { grant?: undefined; ended?: EndCause }

/** The schema's bound on `approvers`. */
const MAX_APPROVERS = 32

/**
 * What an earlier grant still gives. A grant only shrinks: a role that was removed from spec or realm needs a new grant
 * to come back, and an expiry that was moved earlier needs one to move later.
 */
export function remainingGrant(
  grant: Grant | undefined,
  context: { assignment: Assignment; resolution: Resolution; denied: boolean; now: Date },
): RemainingGrant {
  const { assignment, resolution, denied, now } = context
  if (!grant) return {}
  if (assignment.deleting) return { ended: 'Deleted' }
  if (denied) return { ended: 'Denied' }

  const { realm, ids } = resolution
  if (realm && realm.uid !== grant.realmUID) return { ended: 'RealmReplaced' }
  if (ids && !sameIds(ids, grant)) return { ended: 'SubjectReplaced' }

  const { expiresAt: _, paused: __, ...rest } = grant
  const expiresAt = earlier(grant.expiresAt, endOf(assignment, grant.grantedAt))
  if (isOver(expiresAt, now)) return { ended: 'Ended' }

  const roles = realm ? remainingRoles(grant.roles, assignment.roles, realm) : grant.roles
  // An empty grant of this generation stays, so that its approvals do not grant the removed roles again.
  if (roles.length === 0 && grant.generation !== assignment.generation) return {}

  return {
    grant: {
      ...rest,
      ...(expiresAt !== undefined && { expiresAt: new Date(millis(expiresAt)).toISOString() }),
      roles,
      ...(!ids && { paused: true }),
    },
  }
}

export interface NextGrantInput {
  assignment: Assignment
  /** The stored state at this generation. */
  granted: Granted
  remaining: RemainingGrant
  denied: boolean
  /** Undefined while realm, subject or a role is missing. */
  request: Request | undefined
  governance: Governance | undefined
  approvers: readonly string[]
  enforcement: Enforcement
  now: Date
}

export interface NextGrant {
  outcome?: Outcome
  grant?: Grant
  /** Whether this call granted roles. */
  isNew?: boolean
}

/** The outcome of this generation, if it has one, and the grant in effect from now on. */
export function nextGrant(input: NextGrantInput): NextGrant {
  const { assignment, granted, remaining, denied, request, governance, approvers, enforcement, now } = input
  const { grant } = remaining
  const unchanged: NextGrant = { ...(granted.outcome && { outcome: granted.outcome }), ...(grant && { grant }) }

  if (denied) return { outcome: 'Denied' }
  if (assignment.deleting || granted.outcome) return unchanged
  // The approvals of a request that was granted and has ended must not grant it again.
  if (remaining.ended === 'Ended' && wasGranted(granted)) return { outcome: 'Ended' }
  if (!request || !governance) return unchanged
  if (isOver(request.expiresAt, now)) return { ...unchanged, outcome: 'Ended' }
  const isEnforced = enforcement.mode === 'development' || enforcement.mode === 'enforced'
  const mayGrant = assignment.paused !== true && (isEnforced || !enforcement.required)

  if (!needsDecision(request, governance)) {
    if (!mayGrant || (grant && satisfies(grant, request))) return unchanged
    return { grant: newGrant(input, request, []), isNew: true }
  }

  if (request.startsOver || isGrantedByDecision(grant, assignment)) return unchanged
  if (isOver(decisionDueBy(request, grant, governance), now)) return { ...unchanged, outcome: 'TimedOut' }
  if (!mayGrant || approvers.length < request.requiredApprovals) return unchanged
  return { grant: newGrant(input, request, approvers), isNew: true }
}

/** A RoleAssignment that lists one role that always needs a decision waits as a whole. */
export function needsDecision({ listedRoles, roles }: Request, { enabled }: Governance): boolean {
  return enabled || [...listedRoles, ...roles].some(alwaysNeedsDecision)
}

/** When an undecided request times out; undefined when it does not. */
export function decisionDueBy(
  request: Request,
  grant: Grant | undefined,
  { pendingTimeoutSeconds }: Governance,
): string | undefined {
  if (pendingTimeoutSeconds === undefined || (grant && satisfies(grant, request))) return undefined
  return secondsAfter(request.resolvedAt, pendingTimeoutSeconds)
}

export function isGrantedByDecision(grant: Grant | undefined, { generation }: Assignment): boolean {
  return grant?.generation === generation && grant.governed
}

/** Whether a grant gives everything requested: each role with its composites, for the requested time. */
export function satisfies(grant: Grant, request: Request): boolean {
  const given = new Set(grant.roles)
  return [...request.listedRoles, ...request.roles].every((role) => given.has(role)) && lastsAsRequested(grant, request)
}

export function lastsAsRequested(grant: Grant, request: Request): boolean {
  const end = endOf(request, grant.grantedAt)
  if (end === undefined || grant.expiresAt === undefined) return grant.expiresAt === end
  return millis(grant.expiresAt) === millis(end)
}

/**
 * Whether this object was denied at or after the generation of a grant. A Denied counts also when an edit made a new
 * generation before the operator saw it: otherwise an author could escape a denial by editing.
 */
export function deniedSince(
  grant: Grant,
  { uid, generation }: Assignment,
  decisions: readonly StatusDecision[],
  recorded: readonly RecordedDecision[],
): boolean {
  const inStatus = decisions
    .filter(({ observedUID, observedGeneration }) => observedUID === uid && observedGeneration < generation)
    .map(({ decision, observedGeneration }) => ({ decision, generation: observedGeneration }))
  return [...inStatus, ...recorded].some((one) => one.decision === 'Denied' && one.generation >= grant.generation)
}

/** When roles granted at `grantedAt` end; undefined is never. */
function endOf(
  { expiresAt, durationSeconds }: Pick<Assignment, 'expiresAt' | 'durationSeconds'>,
  grantedAt: string,
): string | undefined {
  return earlier(expiresAt, durationSeconds === undefined ? undefined : secondsAfter(grantedAt, durationSeconds))
}

/** Composites of a role that is no longer listed, or no longer granted, are removed with it. */
function remainingRoles(granted: readonly string[], listed: readonly string[], realm: Realm): string[] {
  const before = new Set(granted)
  const { roles } = expandRoles(
    listed.filter((role) => before.has(role)),
    realm,
  )
  return roles.filter((role) => before.has(role))
}

/** Also true when the grant of an earlier generation gave everything that this one requests. */
function wasGranted(granted: Granted): boolean {
  const { serving, generation } = granted
  if (!serving) return false
  return serving.generation === generation || (granted.resolvedAt !== undefined && satisfies(serving, granted))
}

/** @param approvers empty when no decision was needed */
function newGrant(
  { assignment: { generation }, remaining, now }: NextGrantInput,
  request: Request,
  approvers: readonly string[],
): Grant {
  const { realmUID, subjectUID, sub, roles } = request
  const earlierGrant = remaining.grant
  // Within one generation a duration counts from the first grant, also when approvers confirm it or composites grow.
  const continues = earlierGrant?.generation === generation && lastsAsRequested(earlierGrant, request)
  const grantedAt = continues ? earlierGrant.grantedAt : now.toISOString()
  const expiresAt = endOf(request, grantedAt)
  return {
    generation,
    realmUID,
    ...(subjectUID !== undefined && { subjectUID }),
    ...(sub !== undefined && { sub }),
    roles,
    grantedAt,
    ...(expiresAt !== undefined && { expiresAt }),
    governed: approvers.length > 0,
    approvers: approvers.slice(0, MAX_APPROVERS),
  }
}
