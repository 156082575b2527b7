import { expandRoles } from './expand_roles.ts'
import type { Granted, Request, ResolvedGranted } from './granted.ts'
import type { Assignment, Governance } from './decision.ts'
import { sameParties } from './resolve.ts'
import type { Found, Realm } from './resolve.ts'
import { millis } from './time.ts'

type Resolved = Extract<Found, { resolved: true }>

const MAX_QUORUM = 16

/**
 * The request of this generation: the snapshot taken when everything was first found, brought up to date. Roles that
 * went stay away, and a raised quorum stays raised; neither way back changes what approvers are asked.
 * Where other objects stand behind the names than then, it starts over, and no decision on this generation counts.
 */
export function requestOf(memory: Granted, assignment: Assignment, found: Resolved, now: Date): Request {
  const fresh = snapshot(assignment, found, now)
  if (memory.resolvedAt === undefined) return fresh

  const startsOver = whyStartOver(memory, fresh)
  if (startsOver) return { ...fresh, startsOver }

  return {
    ...fresh,
    resolvedAt: memory.resolvedAt,
    roles: stillThere(memory.roles, found.roles),
    requiredApprovals: Math.max(memory.requiredApprovals, fresh.requiredApprovals),
    ...(memory.startsOver && { startsOver: memory.startsOver }),
  }
}

/** The request as it was, while something is missing: less what the realm took away. */
export function requestMeanwhile(memory: ResolvedGranted, { roles }: Assignment, realm: Realm | undefined): Request {
  const { generation: _, outcome: __, uncounted: ___, serving: ____, ...request } = memory
  return realm ? { ...request, roles: stillThere(request.roles, expandRoles(roles, realm).roles) } : request
}

function snapshot(assignment: Assignment, { realm, parties, roles }: Resolved, now: Date): Request {
  const { expiresAt, durationSeconds } = assignment
  return {
    ...parties,
    listedRoles: [...new Set(assignment.roles)].toSorted(),
    roles,
    ...(expiresAt !== undefined && { expiresAt: new Date(millis(expiresAt)).toISOString() }),
    ...(durationSeconds !== undefined && { durationSeconds }),
    requiredApprovals: quorum(realm.governance),
    resolvedAt: now.toISOString(),
  }
}

function whyStartOver(then: Request, now: Request): Request['startsOver'] {
  if (then.realmUID !== now.realmUID) return 'RealmReplaced'
  if (!sameParties(then, now)) return 'SubjectReplaced'
  // A generation has one content. Another one means that the cluster was set back and counts the same numbers again.
  const sameContent =
    JSON.stringify(then.listedRoles) === JSON.stringify(now.listedRoles) &&
    then.expiresAt === now.expiresAt &&
    then.durationSeconds === now.durationSeconds
  return sameContent ? undefined : 'DecisionUnproven'
}

function stillThere(before: readonly string[], now: readonly string[]): string[] {
  const present = new Set(now)
  return before.filter((role) => present.has(role))
}

/** At least one, whatever a Realm says: no quorum of nobody. */
function quorum({ requiredApprovals }: Governance): number {
  return Math.min(Math.max(Math.trunc(requiredApprovals) || 1, 1), MAX_QUORUM)
}
