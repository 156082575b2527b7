import type { RealmSpec, RealmStatus } from '../../crds/realm.gen.ts'
import type { RoleAssignmentSpec } from '../../crds/role_assignment.gen.ts'
import type { Enforcement } from '../../operator/role_assignment/decision.ts'
import { atGeneration, parseGranted } from '../../operator/role_assignment/granted.ts'
import type { Granted } from '../../operator/role_assignment/granted.ts'
import { tally } from '../../operator/role_assignment/quorum.ts'
import { quorumOf } from '../../operator/role_assignment/request.ts'
import { covers, nameKey, statusDecisions } from '../../operator/role_assignment/status_decisions.ts'
import type { StatusDecision } from '../../operator/role_assignment/status_decisions.ts'
import { isClaim, writerKeys } from '../../operator/role_assignment/writers.ts'
import type { StoredResource } from '../../operator/source/directory/state/stored_object.ts'
import { printable } from '../../process/printable.ts'
import { enforcementOf, whyNoneCounts } from './counted_by_operator.ts'

/** One RoleAssignment, as `pending` and `show` print it. Texts of others are one printable line each. */
export interface AssignmentRow {
  namespace: string
  name: string
  uid: string
  generation: number
  ageSeconds: number
  requestedBy: string
  /** Whether `requestedBy` is the claim of another account. */
  claimed: boolean
  /** The account that made the claim, if spec.submittedBy names it. */
  claimedBy?: string
  /** The program that wrote a claim, by its field manager. A hint; in a cluster only. */
  claimedWith?: string
  /** spec.formerRequesters, who cannot decide either. */
  formerRequesters: string[]
  subject: { kind: string; name: string }
  realm: { namespace: string; name: string }
  /** As listed in spec. */
  roles: string[]
  /** spec.reason */
  reason?: string
  /** From spec. */
  expiresAt?: string
  durationSeconds?: number
  /** What an approval changes: the requested roles with their composites, compared with the granted ones. */
  change: { adds: string[]; keeps: string[]; removes: string[] }
  decisions: {
    approver: string
    decision: 'Approved' | 'Denied'
    comment?: string
    decidedAt?: string
    counts: boolean
    /** Why it does not count. */
    notCounted?: string
  }[]
  /** Why no approval of this generation counts. */
  noneCounts?: string
  /** As the operator counts. */
  quorum: { approved: number; required: number }
  /** `waiting` until the operator concludes. */
  state: 'granted' | 'denied' | 'expired' | 'deleting' | 'waiting'
  /** Whether the operator has found realm, subject and roles of this generation. Approvals made before do not count. */
  resolved: boolean
  /** The condition Ready of this generation. */
  ready?: { reason: string; message: string }
  /** In a directory only. */
  file?: string
  line?: number
}

/** A RoleAssignment as a directory or an API server holds it. */
export type AssignmentObject = Pick<
  StoredResource,
  'namespace' | 'name' | 'uid' | 'generation' | 'creationTimestamp' | 'deletionTimestamp' | 'spec' | 'status'
>

export interface NamespacedName {
  namespace: string
  name: string
}

export interface RealmObject {
  spec: RealmSpec
  status?: Pick<RealmStatus, 'conditions'> | undefined
}

/** Undefined when there is no such Realm, or the caller may not read it. */
export type RealmLookup = (realm: NamespacedName) => RealmObject | undefined

export function assignmentRow(assignment: AssignmentObject, findRealm: RealmLookup, now: Date): AssignmentRow {
  const { namespace, name, uid, generation, status = {} } = assignment
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- held specs fit the schema that the type is made from
  const spec = assignment.spec as RoleAssignmentSpec
  const realm = realmOf(assignment)
  const granted = parseGranted(status['granted'])
  const request = granted?.resolvedAt !== undefined && granted.generation === generation ? granted : undefined
  const asked = request?.roles ?? spec.roles
  const serving = granted?.serving?.roles ?? []
  // A condition of an earlier generation does not describe the present spec.
  const ready = status.conditions?.find(({ type, observedGeneration = generation }) => {
    return type === 'Ready' && observedGeneration === generation
  })
  const realmObject = findRealm(realm)
  const decisions = statusDecisions(status)
  const count = countDecisions(assignment, decisions, granted, enforcementOf(realmObject, ready))

  return {
    namespace,
    name,
    uid,
    generation,
    ageSeconds: Math.max(0, Math.floor((now.getTime() - Date.parse(assignment.creationTimestamp)) / 1000)),
    requestedBy: printable(spec.requestedBy),
    claimed: isClaim(spec),
    ...(isClaim(spec) && spec.submittedBy !== undefined && { claimedBy: printable(spec.submittedBy) }),
    formerRequesters: (spec.formerRequesters ?? []).map((name) => printable(name)),
    subject: { ...spec.subject },
    realm,
    roles: spec.roles.map(roleText),
    ...(spec.reason !== undefined && { reason: printable(spec.reason, 1000) }),
    ...(spec.expiresAt !== undefined && { expiresAt: spec.expiresAt }),
    ...(spec.durationSeconds !== undefined && { durationSeconds: spec.durationSeconds }),
    change: {
      adds: asked.filter((role) => !serving.includes(role)).map(roleText),
      keeps: asked.filter((role) => serving.includes(role)).map(roleText),
      removes: serving.filter((role) => !asked.includes(role)).map(roleText),
    },
    decisions: decisions.map((decision) => {
      const notCounted = count.whyNotCounted(decision)
      return {
        approver: printable(decision.approver),
        decision: decision.decision,
        ...remarks(assignment, decision),
        counts: notCounted === undefined,
        ...(notCounted !== undefined && { notCounted }),
      }
    }),
    ...(count.noneCounts !== undefined && { noneCounts: count.noneCounts }),
    quorum: {
      approved: count.approvers.length,
      required: request?.requiredApprovals ?? quorumOf(realmObject?.spec.identityGovernance ?? {}, spec),
    },
    resolved: request !== undefined,
    state: stateOf(assignment, ready),
    ...(ready && { ready: { reason: ready.reason, message: printable(ready.message, 1000) } }),
  }
}

const MAX_ROLE = 255

function roleText(role: string): string {
  return printable(role, MAX_ROLE)
}

function stateOf(
  { deletionTimestamp }: AssignmentObject,
  ready: { status: string; reason: string } | undefined,
): AssignmentRow['state'] {
  if (deletionTimestamp !== undefined) return 'deleting'
  if (ready?.status === 'True') return 'granted'
  if (ready?.reason === 'Denied') return 'denied'
  return ready?.reason === 'Expired' ? 'expired' : 'waiting'
}

function remarks(
  { status }: AssignmentObject,
  { approver, form }: { approver: string; form: string },
): { comment?: string; decidedAt?: string } {
  const entry = form === 'entry' ? status?.approvals?.find((one) => one.approver === approver) : undefined
  return {
    ...(entry?.comment !== undefined && { comment: printable(entry.comment, 1000) }),
    ...(entry?.decidedAt !== undefined && { decidedAt: entry.decidedAt }),
  }
}

/**
 * Counts with the operator's own function, from what the operator publishes in status: the request of this generation
 * and the approvals that do not count. The approvers of a grant of this generation are in the grant. Returns the
 * approvers, and why a decision does not count (undefined when it counts).
 */
function countDecisions(
  assignment: AssignmentObject,
  decisions: readonly StatusDecision[],
  granted: Granted | undefined,
  enforcement: Enforcement,
) {
  const { uid, generation } = assignment
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- held specs fit the schema that the type is made from
  const writers = assignment.spec as RoleAssignmentSpec
  const current = granted?.generation === generation ? granted : undefined
  const votes = tally({
    assignment: { ...writers, uid, generation },
    decisions,
    recorded: [],
    granted: atGeneration(granted, generation),
    // The operator reports an unproven spec as `startsOver`.
    spec: 'proven',
    enforcement,
    realmFound: true,
    // Before the operator has seen this generation, nothing shows that it does not resolve.
    resolved: current === undefined || current.resolvedAt !== undefined,
  })
  const grant = current?.serving?.generation === generation && current.serving.governed ? current.serving : undefined
  const noneCounts = whyNoneCounts(granted, generation)
  const approvers = grant?.approvers ?? (noneCounts ? [] : votes.approvers)
  const approved = new Set(approvers.map(nameKey))
  const denied = new Set(votes.deniedBy.map(nameKey))
  const uncounted = new Map(votes.uncounted.map(({ approver, reason }) => [nameKey(approver), reason]))

  const whyNotCounted = (decision: StatusDecision): string | undefined => {
    const key = nameKey(decision.approver)
    if (decision.observedUID !== uid) return 'made on another object of this name'
    if (decision.observedGeneration !== generation) return `made on generation ${decision.observedGeneration}`
    if (key === nameKey(writers.requestedBy)) return 'made by the requester'
    if (writerKeys(writers).has(key)) return 'made by an account that wrote the request'
    if (denied.has(key)) return decision.decision === 'Denied' ? undefined : 'the same approver denied'
    if (approved.has(key)) {
      const first = decisions.find((one) => covers(one, assignment) && nameKey(one.approver) === key)
      return first === decision ? undefined : `counts once, with that of ${first?.approver}`
    }
    if (noneCounts) return noneCounts
    return uncounted.get(key) ?? 'the operator has not checked it yet'
  }
  return { approvers, whyNotCounted, noneCounts }
}

/** Whether `pending` lists a RoleAssignment. */
export function isPending({ state }: AssignmentRow): boolean {
  return state === 'waiting'
}

/** The Realm that spec names. */
export function realmOf({ namespace, spec }: Pick<AssignmentObject, 'namespace' | 'spec'>): NamespacedName {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- stored specs fit the schema that the type is made from
  const { realmRef } = spec as RoleAssignmentSpec
  return { namespace: realmRef.namespace ?? namespace, name: realmRef.name }
}
