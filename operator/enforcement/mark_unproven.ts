import { appendAudit } from '../../store/audit.ts'
import type { Db } from '../../store/db.ts'
import { listDecisions } from '../../store/operator/decisions.ts'
import type { DecisionRow } from '../../store/operator/decisions.ts'
import { findRoleAssignmentByUid, lockRoleAssignment, upsertRoleAssignment } from '../../store/role_assignments.ts'
import type { RoleAssignmentRow } from '../../store/role_assignments.ts'
import { atGeneration, parseGranted } from '../role_assignment/granted.ts'
import type { Granted, UncountedApproval } from '../role_assignment/granted.ts'
import { tally } from '../role_assignment/quorum.ts'
import { statusDecisions } from '../role_assignment/status_decisions.ts'
import type { StoreAccess } from '../rows/store_access.ts'
import type { RoleAssignmentResource } from '../view/resource_types.ts'

/**
 * Stores every decision in a status that is not recorded yet as DecisionUnproven: it may have been written during the
 * gap. Grants stay. Returns the approvers of the newly marked approvals.
 */
export async function markUnproven(store: StoreAccess, resource: RoleAssignmentResource): Promise<string[]> {
  const { uid, generation, namespace, name } = resource.metadata
  // Most objects have nothing to mark; those take no lock.
  if ((await readMarks(store.db, resource)) === undefined) return []
  return store.transaction(async (db) => {
    await lockRoleAssignment(db, uid)
    const marks = await readMarks(db, resource)
    if (!marks) return []
    const { row, granted, newlyUncounted } = marks
    // Without a realm the row has no realm name; the marks must be stored nevertheless.
    const realm = row?.realm ?? ''
    await upsertRoleAssignment(db, {
      realm,
      resourceUid: uid,
      namespace,
      name,
      generation: granted.generation,
      granted,
    })
    const { kind: subjectKind, name: subjectName } = resource.spec.subject
    const about = { uid, generation, namespace, name, subjectKind, subjectName }
    const audit = newlyUncounted.map(({ approver, reason }) => ({
      at: store.now(),
      action: 'assignment_decided' as const,
      realm,
      details: { ...about, approver, decision: 'Approved', counted: false, reason },
    }))
    await appendAudit(db, store.auditWriter, audit)
    return newlyUncounted.map(({ approver }) => approver)
  })
}

interface Marks {
  granted: Granted
  newlyUncounted: UncountedApproval[]
}

async function readMarks(
  db: Db,
  resource: RoleAssignmentResource,
): Promise<(Marks & { row: RoleAssignmentRow | undefined }) | undefined> {
  if (statusDecisions(resource.status).length === 0) return undefined
  const { uid } = resource.metadata
  const row = await findRoleAssignmentByUid(db, uid)
  const marks = withUnproven(resource, parseGranted(row?.granted), await listDecisions(db, uid))
  return marks && { ...marks, row }
}

/** The state to store in place of `stored`; undefined when nothing is new. */
export function withUnproven(
  { metadata, spec, status }: RoleAssignmentResource,
  stored: Granted | undefined,
  recorded: readonly DecisionRow[],
): Marks | undefined {
  // An object restored from a backup is marked at the stored generation: no older generation is decided on again.
  const generation = Math.max(metadata.generation, stored?.generation ?? 0)
  const granted = atGeneration(stored, generation)
  const { toStore, newlyUncounted } = tally({
    assignment: { ...spec, uid: metadata.uid, generation },
    decisions: statusDecisions(status),
    recorded: recorded.filter(({ assignmentUid }) => assignmentUid === metadata.uid),
    granted,
    spec: 'unknown',
    enforcement: { mode: 'gap', required: true },
    realmFound: true,
    resolved: true,
  })
  const known = new Set((granted.uncounted ?? []).map(keyOf))
  if (toStore.every((approval) => known.has(keyOf(approval)))) return undefined
  return { granted: { ...granted, uncounted: toStore }, newlyUncounted }
}

function keyOf({ approver, generation }: UncountedApproval): string {
  return JSON.stringify([generation, approver])
}
