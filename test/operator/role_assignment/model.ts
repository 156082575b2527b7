import type { Assignment, Enforcement, Governance } from '../../../operator/role_assignment/decision.ts'
import type { StatusDecision } from '../../../operator/role_assignment/status_decisions.ts'
import type { SpecState } from '../../../operator/role_assignment/spec_state.ts'
import type { World } from './world.ts'

/**
 * An independent, simple model of the rules. It stores no state: it searches the whole history for a generation that was
 * approved (or needed no decision) and for a later event that revokes the role. `mayHold` finds roles that must not be
 * held, `mustHold` roles that must.
 */
export interface Seen {
  at: number
  assignment: Assignment
  /** Absent while the realm is missing. */
  realm: { uid: string; roles: Record<string, readonly string[]>; governance: Governance } | undefined
  user: string | undefined
  mode: Enforcement['mode']
  required: boolean
  spec: SpecState
  decisions: WrittenDecision[]
  /** The stored state is lost; `forgotten` when status or decisions show that there was one. */
  memoryLost: boolean
  forgotten: boolean
}

/** A decision, and whether admission would have refused it. */
export interface WrittenDecision extends StatusDecision {
  forged?: boolean
}

export function observe(world: World): Seen {
  const { assignment, realm, refused, user, enforcement, spec, decisions, now, row, status, statusTrusted, recorded } =
    structuredClone(world)
  const own = [...realm.fieldRoles, 'svc-realm-admin'].map((name) => [name, []] as const)
  const defined = realm.roles.map(({ name, composites = [] }) => [name, [...composites]] as const)
  return {
    at: now.getTime(),
    assignment,
    realm: refused
      ? undefined
      : { uid: realm.uid, roles: Object.fromEntries([...defined, ...own]), governance: realm.governance },
    user: user?.realmUid === realm.uid ? user.uid : undefined,
    mode: enforcement.mode,
    required: enforcement.required,
    spec,
    decisions,
    memoryLost: !row && !(status && statusTrusted),
    forgotten:
      !row &&
      !(status && statusTrusted) &&
      (status !== undefined || recorded.some((one) => one.assignmentUid === assignment.uid)),
  }
}

/** Why a role that is held must not be; undefined when some generation covers it. */
export function mayHold(role: string, history: Seen[]): string | undefined {
  const last = history.length - 1
  const now = history[last]!
  if (!isResolved(now) && !(now.realm && now.user)) return 'realm or subject is missing'
  if (now.assignment.deleting) return 'it is being deleted'

  const generations = new Set(history.filter(sameObject(now)).map(({ assignment }) => assignment.generation))
  const reasons = [...generations].map((generation) => `${generation}: ${uncovered(role, generation, history)}`)
  return reasons.some((reason) => reason.endsWith('undefined')) ? undefined : reasons.join('; ')
}

/** The roles that have to be held, where nothing at all stands in the way of the present generation. */
export function mustHold(history: Seen[]): string[] {
  const now = history.at(-1)!
  if (!isResolved(now) || history.slice(1).some(({ memoryLost }) => memoryLost)) return []
  const generation = history.filter(
    (seen) => sameObject(now)(seen) && seen.assignment.generation === now.assignment.generation,
  )
  const { expiresAt, durationSeconds, roles } = now.assignment
  const plain =
    expiresAt === undefined &&
    durationSeconds === undefined &&
    generation.every(
      (seen) =>
        isResolved(seen) &&
        !seen.assignment.deleting &&
        ['enforced', 'development'].includes(seen.mode) &&
        seen.spec === 'proven' &&
        JSON.stringify(seen.realm!.roles) === JSON.stringify(now.realm!.roles) &&
        seen.realm!.uid === now.realm!.uid &&
        seen.user === now.user &&
        seen.realm!.governance.pendingTimeoutSeconds === undefined &&
        denials(seen).length === 0,
    ) &&
    history.every(({ decisions, assignment }) =>
      decisions.every(({ forged, observedGeneration }) => !forged && observedGeneration <= assignment.generation),
    )
  if (!plain) return []
  const free = !needsDecision(now)
  const approvers = new Set(generation.flatMap((seen) => approvals(seen)))
  const quorum = Math.max(...generation.map(requiredBy))
  return free || approvers.size >= quorum ? [...closure(roles, now.realm!.roles)] : []
}

function uncovered(role: string, generation: number, history: Seen[]): string | undefined {
  const now = history.at(-1)!
  const of = (seen: Seen) => sameObject(now)(seen) && seen.assignment.generation === generation
  // After the stored state is lost, the request starts again, for approvers who had not decided.
  const starts = history.flatMap(({ memoryLost }, index) => (index === 0 || memoryLost ? [index] : []))
  const reasons = starts.map((start) => {
    const asked = history.findIndex((seen, index) => index >= start && of(seen) && isResolved(seen))
    return asked < 0 ? 'never resolved' : uncoveredSince({ start, asked, of }, role, history)
  })
  return reasons.includes(undefined) ? undefined : reasons.join(' or ')
}

/** The first index to search, the index where the request first resolved, and the filter of its generation. */
interface Span {
  start: number
  asked: number
  of: (seen: Seen) => boolean
}

function uncoveredSince({ start, asked, of }: Span, role: string, history: Seen[]): string | undefined {
  const decided = history.findIndex(
    (_, index) => index >= asked && of(history[index]!) && isApproved(history, { start, asked, of }, index),
  )
  const free = history.findIndex(
    (seen, index) => index >= asked && of(seen) && isResolved(seen) && mayGrant(seen) && !needsDecision(seen),
  )
  const reasons = [
    decided < 0 ? 'not approved' : lost(role, history, { granted: decided, covered: asked }),
    free < 0 ? 'not free' : freeLost(role, history, free, of),
  ]
  return reasons.includes(undefined) ? undefined : reasons.join(' and ')
}

/** Whether a quorum of valid approvals had been seen, after all was there and before it was too late. */
function isApproved(history: Seen[], { start, asked, of }: Span, index: number): boolean {
  const seen = history[index]!
  const span = history.slice(asked, index + 1).filter((one) => one.assignment.uid === seen.assignment.uid)
  if (!isResolved(seen) || !mayGrant(seen) || !isSpecTrusted(seen)) return false
  const known = span.filter((one) => one.realm)
  if (known.some((one) => one.realm!.uid !== history[asked]!.realm!.uid)) return false
  if (known.some((one) => one.user !== undefined && one.user !== history[asked]!.user)) return false

  const { pendingTimeoutSeconds } = seen.realm!.governance
  if (
    pendingTimeoutSeconds !== undefined &&
    seen.at >= history[asked]!.at + pendingTimeoutSeconds * 1000 &&
    index > asked
  ) {
    // Confirming what an earlier generation gives is never late, so being late alone proves nothing.
    if (history.slice(0, asked).length === 0) return false
  }
  const before = history.filter((_, one) => one >= start && (one < asked || (one === start && history[one]!.forgotten)))
  const early = new Set(before.filter(of).flatMap((one) => approvals(one)))
  const names = new Set(span.flatMap((one) => approvals(one)).filter((name) => !early.has(name)))
  const quorum = Math.max(...known.filter(isResolved).map(requiredBy))
  return names.size >= quorum
}

function freeLost(role: string, history: Seen[], free: number, of: (seen: Seen) => boolean): string | undefined {
  const covered = history.findIndex(
    (seen, index) =>
      index >= free &&
      of(seen) &&
      isResolved(seen) &&
      mayGrant(seen) &&
      !needsDecision(seen) &&
      closure(seen.assignment.roles, seen.realm!.roles).has(role),
  )
  if (covered < 0) return 'free, but not of this role'
  // Without a decision, a replaced subject is granted again.
  const last = history.findLastIndex(
    (seen, index) =>
      index >= covered &&
      of(seen) &&
      isResolved(seen) &&
      mayGrant(seen) &&
      !needsDecision(seen) &&
      closure(seen.assignment.roles, seen.realm!.roles).has(role),
  )
  const sameParties =
    history[free]!.user === history[last]!.user && history[free]!.realm!.uid === history[last]!.realm!.uid
  return lost(role, history, { granted: sameParties ? free : last, covered: last })
}

/** What happened since a grant that took a role away. */
function lost(
  role: string,
  history: Seen[],
  { granted, covered }: { granted: number; covered: number },
): string | undefined {
  const now = history.at(-1)!
  const grant = history[granted]!
  const origin = history[covered]!
  if (!closure(origin.assignment.roles, origin.realm!.roles).has(role))
    return 'not among the roles that were decided on'

  for (const seen of history.slice(Math.min(granted, covered)).filter(sameObject(now))) {
    if (denials(seen).length > 0) return 'denied'
  }
  for (const seen of history.slice(covered).filter(sameObject(now))) {
    if (seen.realm && seen.realm.uid !== origin.realm!.uid) return 'another realm'
    if (seen.realm && seen.user !== undefined && seen.user !== origin.user) return 'another subject'
    if (seen.realm && !closure(seen.assignment.roles, seen.realm.roles).has(role))
      return 'no longer requested, or no longer a composite'
  }
  for (const { assignment } of history.slice(granted).filter(sameObject(now))) {
    if (assignment.expiresAt !== undefined && Date.parse(assignment.expiresAt) <= now.at) return 'past its end'
    if (assignment.durationSeconds !== undefined && grant.at + assignment.durationSeconds * 1000 <= now.at)
      return 'lasted long enough'
  }
  return undefined
}

function approvals({ assignment, decisions, required }: Seen): string[] {
  return decisions
    .filter(({ decision, forged }) => decision === 'Approved' && !(forged && required))
    .filter((one) => one.observedUID === assignment.uid && one.observedGeneration === assignment.generation)
    .map(({ approver }) => approver.toLowerCase())
    .filter((name) => !wrote(assignment, name))
}

function denials({ assignment, decisions }: Seen): StatusDecision[] {
  return decisions.filter(
    (one) =>
      one.decision === 'Denied' &&
      one.observedUID === assignment.uid &&
      one.observedGeneration === assignment.generation &&
      !wrote(assignment, one.approver.toLowerCase()),
  )
}

function wrote({ requestedBy, submittedBy, formerRequesters = [] }: Seen['assignment'], name: string): boolean {
  return [requestedBy, submittedBy, ...formerRequesters].some((writer) => writer?.toLowerCase() === name)
}

function requiredBy({ assignment, realm }: Seen): number {
  const { requiredApprovals, extraApprovalForClaims } = realm!.governance
  return requiredApprovals + (extraApprovalForClaims && assignment.submittedBy !== assignment.requestedBy ? 1 : 0)
}

function isResolved({ assignment, realm, user }: Seen): boolean {
  return realm !== undefined && user !== undefined && assignment.roles.every((role) => Object.hasOwn(realm.roles, role))
}

function mayGrant({ mode, required }: Seen): boolean {
  return !required || mode === 'enforced' || mode === 'development'
}

/** Without the requirement, what is not known counts while a gap lasts. */
function isSpecTrusted({ spec, mode, required }: Seen): boolean {
  return spec === 'proven' || (spec === 'unknown' && mode === 'gap' && !required)
}

function needsDecision({ assignment, realm }: Seen): boolean {
  return (
    realm!.governance.enabled || assignment.roles.some((role) => role.startsWith('_svc_') || role.startsWith('svc-'))
  )
}

function closure(
  roles: readonly string[],
  defined: Record<string, readonly string[]>,
  found = new Set<string>(),
): Set<string> {
  for (const role of roles) {
    if (found.has(role) || !defined[role]) continue
    found.add(role)
    closure(defined[role], defined, found)
  }
  return found
}

function sameObject(now: Seen): (seen: Seen) => boolean {
  return ({ assignment }) => assignment.uid === now.assignment.uid
}
