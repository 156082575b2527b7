import type { RealmSpec } from '../../crds/realm.gen.ts'
import type { RoleAssignmentSpec } from '../../crds/role_assignment.gen.ts'
import { parseGranted } from '../../operator/role_assignment/granted.ts'
import { printable } from '../../process/printable.ts'
import { covers, statusDecisions } from '../../operator/role_assignment/status_decisions.ts'
import type { StoredResource } from '../../operator/source/directory/state/stored_object.ts'

/** One RoleAssignment as an approver wants to see it. Texts of others are one line each and printable. */
export interface AssignmentRow {
  namespace: string
  name: string
  uid: string
  generation: number
  ageSeconds: number
  requestedBy: string
  /** What wrote spec, as it calls itself, where `requestedBy` may be the claim of another account. In a cluster only. */
  submittedBy?: string
  subject: { kind: string; name: string }
  realm: { namespace: string; name: string }
  /** As listed in spec. */
  roles: string[]
  /** Why the roles are asked for. */
  reason?: string
  /** When the request says that the roles end. */
  expiresAt?: string
  durationSeconds?: number
  /** What granting it changes: roles with all that they are composed of, against what is granted now. */
  change: { adds: string[]; keeps: string[]; removes: string[] }
  decisions: {
    approver: string
    decision: 'Approved' | 'Denied'
    comment?: string
    decidedAt?: string
    counts: boolean
  }[]
  quorum: { approved: number; required: number }
  /** `waiting` until the operator says otherwise. */
  state: 'granted' | 'denied' | 'expired' | 'deleting' | 'waiting'
  /** Whether the operator has found realm, subject and roles of this generation. Until then approvals do not count. */
  resolved: boolean
  /** The condition Ready: why it waits, or what it is. */
  ready?: { reason: string; message: string }
  /** Where it stands. */
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

/** The spec of a Realm, as far as it can be read. */
export type RealmLookup = (realm: NamespacedName) => RealmSpec | undefined

/** What is held of a RoleAssignment, as a row. */
export function assignmentRow(assignment: AssignmentObject, findRealm: RealmLookup, now: Date): AssignmentRow {
  const { namespace, name, uid, generation, status = {} } = assignment
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- held specs fit the schema that the type is made from
  const spec = assignment.spec as RoleAssignmentSpec
  const realm = realmOf(assignment)
  const granted = parseGranted(status['granted'])
  const request = granted?.resolvedAt !== undefined && granted.generation === generation ? granted : undefined
  const asked = request?.roles ?? spec.roles
  const serving = granted?.serving?.roles ?? []
  // What was said of a former generation is not about what stands there now.
  const ready = status.conditions?.find(({ type, observedGeneration = generation }) => {
    return type === 'Ready' && observedGeneration === generation
  })
  const counting = statusDecisions(status).filter((decision) => covers(decision, assignment))
  const approvers = new Set(counting.filter(({ decision }) => decision === 'Approved').map(({ approver }) => approver))

  return {
    namespace,
    name,
    uid,
    generation,
    ageSeconds: Math.max(0, Math.floor((now.getTime() - Date.parse(assignment.creationTimestamp)) / 1000)),
    requestedBy: printable(spec.requestedBy),
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
    decisions: statusDecisions(status).map((stated) => ({
      approver: printable(stated.approver),
      decision: stated.decision,
      ...remarks(assignment, stated),
      counts: covers(stated, assignment),
    })),
    quorum: { approved: approvers.size, required: request?.requiredApprovals ?? requiredApprovals(findRealm(realm)) },
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

function requiredApprovals(realm: RealmSpec | undefined): number {
  return realm?.identityGovernance?.requiredApprovals ?? 1
}

/** The Realm that a RoleAssignment names. */
export function realmOf({ namespace, spec }: Pick<AssignmentObject, 'namespace' | 'spec'>): NamespacedName {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- stored specs fit the schema that the type is made from
  const { realmRef } = spec as RoleAssignmentSpec
  return { namespace: realmRef.namespace ?? namespace, name: realmRef.name }
}
