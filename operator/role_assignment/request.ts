import { names, printable } from '../../process/printable.ts'
import { expandRoles } from '../realm/expand_roles.ts'
import type { Assignment, DecisionInput, Governance, RealmForAssignment, Reason } from './decision.ts'
import type { Granted, Request, ResolvedGranted } from './granted.ts'
import { millis } from './time.ts'
import { isClaim } from './writers.ts'
import type { Writers } from './writers.ts'

export type Realm = Extract<RealmForAssignment, { admitted: true }>

/** The Realm and the User behind the names in spec. A Group has no uid and no `sub`. */
export type ResolvedIds = Pick<Request, 'realmUID' | 'subjectUID' | 'sub'>

/** What the names in spec stand for at present. */
export type Resolution = { realm?: Realm; ids?: ResolvedIds } & (
  | { resolved: true; realm: Realm; ids: ResolvedIds; roles: string[] }
  | { resolved: false; reason: Reason; message: string }
)

type Resolved = Extract<Resolution, { resolved: true }>

const MAX_QUORUM = 16

/** Looks up realm, subject and roles, in this order; the first one missing is the result. */
export function resolve({ assignment, realm, user }: Pick<DecisionInput, 'assignment' | 'realm' | 'user'>): Resolution {
  if (!realm.admitted) return { resolved: false, reason: realm.reason, message: printable(realm.message, 500) }

  const ids = resolveSubject(assignment, realm, user)
  if ('reason' in ids) return { resolved: false, realm, ...ids }

  const { roles, unknown } = expandRoles(assignment.roles, realm)
  if (unknown.length > 0) {
    const message = `realm "${printable(realm.name)}" has no role ${names(unknown)}`
    return { resolved: false, realm, ids, reason: 'RoleNotFound', message }
  }
  return { resolved: true, realm, ids, roles }
}

/**
 * The request of this generation. It is stored when everything first resolves, so that later changes of the realm do
 * not change what approvers decide on: removed roles stay removed, and a raised quorum stays raised. When a name stands
 * for another object than before, the request starts over and no decision on this generation counts.
 */
export function requestOf(stored: Granted, assignment: Assignment, resolution: Resolved, now: Date): Request {
  const fresh = newRequest(assignment, resolution, now)
  if (stored.resolvedAt === undefined) return fresh

  const startsOver = whyStartOver(stored, fresh)
  if (startsOver) return { ...fresh, startsOver }

  return {
    ...fresh,
    resolvedAt: stored.resolvedAt,
    roles: present(stored.roles, resolution.roles),
    requiredApprovals: Math.max(stored.requiredApprovals, fresh.requiredApprovals),
    ...(stored.startsOver && { startsOver: stored.startsOver }),
  }
}

/** The stored request while a name does not resolve, without the roles that the realm removed. */
export function unresolvedRequest(stored: ResolvedGranted, assignment: Assignment, realm: Realm | undefined): Request {
  const { generation: _, outcome: __, uncounted: ___, serving: ____, ...rest } = stored
  const request: Request = hasContent(stored, contentOf(assignment))
    ? rest
    : { ...rest, startsOver: 'DecisionUnproven' }
  return realm ? { ...request, roles: present(request.roles, expandRoles(assignment.roles, realm).roles) } : request
}

export function sameIds(one: ResolvedIds, other: ResolvedIds): boolean {
  return one.realmUID === other.realmUID && one.subjectUID === other.subjectUID && one.sub === other.sub
}

function resolveSubject(
  { namespace, subject }: Assignment,
  realm: Realm,
  user: DecisionInput['user'],
): ResolvedIds | { reason: Reason; message: string } {
  if (subject.kind === 'User') {
    if (user?.realmUid === realm.uid) return { realmUID: realm.uid, subjectUID: user.uid, sub: user.sub }
    const message = `no User ${namespace}/${printable(subject.name)} in realm "${printable(realm.name)}"`
    return { reason: 'SubjectNotFound', message }
  }

  const group = `default-roles-${realm.name}`
  if (subject.name !== group) {
    const message = `no Group ${printable(subject.name)}; the only Group of the realm is ${group}`
    return { reason: 'SubjectNotFound', message }
  }
  if (namespace !== realm.namespace) {
    const message = `a RoleAssignment for ${group} (every user of the realm) must be in the Realm's namespace ${realm.namespace}`
    return { reason: 'NamespaceNotAllowed', message }
  }
  return { realmUID: realm.uid }
}

function newRequest(assignment: Assignment, { realm, ids, roles }: Resolved, now: Date): Request {
  return {
    ...ids,
    ...contentOf(assignment),
    roles,
    requiredApprovals: quorumOf(realm.governance, assignment),
    resolvedAt: now.toISOString(),
  }
}

function whyStartOver(stored: Request, fresh: Request): Request['startsOver'] {
  if (stored.realmUID !== fresh.realmUID) return 'RealmReplaced'
  if (!sameIds(stored, fresh)) return 'SubjectReplaced'
  return hasContent(stored, fresh) ? undefined : 'DecisionUnproven'
}

type Content = Pick<Request, 'listedRoles' | 'expiresAt' | 'durationSeconds'>

function contentOf({ roles, expiresAt, durationSeconds }: Assignment): Content {
  return {
    listedRoles: [...new Set(roles)].toSorted(),
    ...(expiresAt !== undefined && { expiresAt: new Date(millis(expiresAt)).toISOString() }),
    ...(durationSeconds !== undefined && { durationSeconds }),
  }
}

/** A generation has one content. Another content means that the cluster was restored and repeats generation numbers. */
function hasContent(stored: Content, { listedRoles, expiresAt, durationSeconds }: Content): boolean {
  return (
    JSON.stringify(stored.listedRoles) === JSON.stringify(listedRoles) &&
    stored.expiresAt === expiresAt &&
    stored.durationSeconds === durationSeconds
  )
}

function present(stored: readonly string[], resolved: readonly string[]): string[] {
  const known = new Set(resolved)
  return stored.filter((role) => known.has(role))
}

/** The approvals that a request requires: at least 1, also where a Realm requires none, and 16 at most. */
export function quorumOf(governance: Partial<Governance>, writers: Writers): number {
  const { requiredApprovals = 1, extraApprovalForClaims = false } = governance
  const required = Math.max(Math.trunc(requiredApprovals) || 1, 1)
  return Math.min(extraApprovalForClaims && isClaim(writers) ? required + 1 : required, MAX_QUORUM)
}
