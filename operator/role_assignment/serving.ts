import { expandRoles } from './expand_roles.ts'
import type { Request, Serving } from './granted.ts'
import type { Assignment, RecordedDecision } from './decision.ts'
import { sameParties } from './resolve.ts'
import type { Found } from './resolve.ts'
import type { StatusDecision } from './status_decisions.ts'
import { earlier, isOver, millis, secondsAfter } from './time.ts'

export type Ending = 'Deleted' | 'Denied' | 'RealmReplaced' | 'SubjectReplaced' | 'Ended'

/** What is left of a grant; or, where nothing is, why. */
export type Kept = { serving: Serving; ending?: undefined } | { serving?: undefined; ending?: Ending }

/**
 * What an earlier grant still gives. It only ever shrinks: a role that went, from the spec or from the realm, does
 * not come back without a new grant, and an end that came nearer does not move away.
 */
export function keep(
  serving: Serving | undefined,
  { assignment, found, denied, now }: { assignment: Assignment; found: Found; denied: boolean; now: Date },
): Kept {
  if (!serving) return {}
  if (assignment.deleting) return { ending: 'Deleted' }
  if (denied) return { ending: 'Denied' }

  const { realm, parties } = found
  if (realm && realm.uid !== serving.realmUID) return { ending: 'RealmReplaced' }
  if (parties && !sameParties(parties, serving)) return { ending: 'SubjectReplaced' }

  const { expiresAt: _, paused: __, ...rest } = serving
  const expiresAt = earlier(serving.expiresAt, endOf(assignment, serving.grantedAt))
  if (isOver(expiresAt, now)) return { ending: 'Ended' }

  const roles = realm ? stillGiven(serving.roles, assignment.roles, realm) : serving.roles
  // Of this generation it is kept, so that its approvals do not grant again what went.
  if (roles.length === 0 && serving.generation !== assignment.generation) return {}

  return {
    serving: {
      ...rest,
      ...(expiresAt !== undefined && { expiresAt: new Date(millis(expiresAt)).toISOString() }),
      roles,
      ...(!parties && { paused: true }),
    },
  }
}

/** When roles that are granted at a time end, by what a spec (or a request) asks; undefined is never. */
export function endOf(
  asked: { expiresAt?: string | undefined; durationSeconds?: number | undefined },
  grantedAt: string,
): string | undefined {
  const { expiresAt, durationSeconds } = asked
  return earlier(expiresAt, durationSeconds === undefined ? undefined : secondsAfter(grantedAt, durationSeconds))
}

/** Whether a grant gives all that is asked for: each listed role, all it is composed of, and as long. */
export function covers(serving: Serving, request: Request): boolean {
  const given = new Set(serving.roles)
  return [...request.listedRoles, ...request.roles].every((role) => given.has(role)) && lastsAsAsked(serving, request)
}

export function lastsAsAsked(serving: Serving, request: Request): boolean {
  const asked = endOf(request, serving.grantedAt)
  if (asked === undefined || serving.expiresAt === undefined) return serving.expiresAt === asked
  return millis(serving.expiresAt) === millis(asked)
}

/**
 * Whether somebody denied this object at or after the generation that a grant stems from. That includes a Denied that
 * an edit outdated before it was seen: an author must not outrun it.
 */
export function deniedSince(
  serving: Serving,
  { uid, generation }: Assignment,
  stated: readonly StatusDecision[],
  recorded: readonly RecordedDecision[],
): boolean {
  const seen = stated.filter(
    ({ observedUID, observedGeneration }) => observedUID === uid && observedGeneration < generation,
  )
  return (
    seen.some(({ decision, observedGeneration: seen }) => decision === 'Denied' && seen >= serving.generation) ||
    recorded.some(({ decision, generation }) => decision === 'Denied' && generation >= serving.generation)
  )
}

/** Composites of a role that is no longer listed, or no longer granted, go with it. */
function stillGiven(
  granted: readonly string[],
  listed: readonly string[],
  defined: NonNullable<Found['realm']>,
): string[] {
  const before = new Set(granted)
  const now = expandRoles(
    listed.filter((role) => before.has(role)),
    defined,
  )
  return now.roles.filter((role) => before.has(role))
}
