import { appendAudit } from '../../store/audit.ts'
import type { Db } from '../../store/db.ts'
import { listDecisions } from '../../store/decisions.ts'
import type { DecisionRow } from '../../store/decisions.ts'
import { findRoleAssignmentByUid, lockRoleAssignment, upsertRoleAssignment } from '../../store/role_assignments.ts'
import type { RoleAssignmentRow } from '../../store/role_assignments.ts'
import type { RoleAssignmentResource } from '../view/resource_types.ts'
import { atGeneration, parseGranted } from '../role_assignment/granted.ts'
import type { Granted } from '../role_assignment/granted.ts'
import { tally } from '../role_assignment/quorum.ts'
import type { Tally } from '../role_assignment/quorum.ts'
import { statusDecisions } from '../role_assignment/status_decisions.ts'
import type { StoreAccess } from '../rows/store_access.ts'

/**
 * Remembers of every decision that stands in a status, and is not recorded, that it does not count: it may have been
 * written while admission vouched for nobody. Nothing else changes; what is granted stays. Returns the names set aside.
 */
export async function setAsideDecisions(store: StoreAccess, resource: RoleAssignmentResource): Promise<string[]> {
  const { uid, namespace, name } = resource.metadata
  if ((await marksOf(store.db, resource)) === undefined) return []
  return store.transaction(async (db) => {
    await lockRoleAssignment(db, uid)
    const marks = await marksOf(db, resource)
    if (!marks) return []
    const { row, granted, newlyUncounted } = marks
    // A realm that does not take it has no name here, but what does not count must not be forgotten.
    const realm = row?.realm ?? ''
    const { generation } = granted
    await upsertRoleAssignment(db, { realm, resourceUid: uid, namespace, name, generation, granted })
    const at = store.now()
    const audit = newlyUncounted.map(({ approver, reason }) => ({
      at,
      action: 'assignment_decided' as const,
      realm,
      details: { ...aboutOf(resource), approver, decision: 'Approved', counted: false, reason },
    }))
    await appendAudit(db, store.auditWriter, audit)
    return newlyUncounted.map(({ approver }) => approver)
  })
}

interface Marks extends Pick<Tally, 'newlyUncounted'> {
  row: RoleAssignmentRow | undefined
  granted: Granted
}

async function marksOf(db: Db, resource: RoleAssignmentResource): Promise<Marks | undefined> {
  const stated = statusDecisions(resource.status)
  if (stated.length === 0) return undefined
  const { uid } = resource.metadata
  const row = await findRoleAssignmentByUid(db, uid)
  const before = parseGranted(row?.granted)
  const granted = setAside(resource, before, await listDecisions(db, uid))
  return granted && { row, ...granted }
}

/** What to remember in place of `before`; undefined when nothing is new. Exported for tables of cases. */
export function setAside(
  { metadata, spec, status }: RoleAssignmentResource,
  before: Granted | undefined,
  recorded: readonly DecisionRow[],
): Pick<Marks, 'granted' | 'newlyUncounted'> | undefined {
  // An object that was set back is judged by the generation that is remembered: no older one is decided on again.
  const generation = Math.max(metadata.generation, before?.generation ?? 0)
  const memory = atGeneration(before, generation)
  const { toStore: uncounted, newlyUncounted } = tally({
    assignment: { uid: metadata.uid, generation, requestedBy: spec.requestedBy },
    decisions: statusDecisions(status),
    recorded: recorded.filter(({ assignmentUid }) => assignmentUid === metadata.uid),
    granted: memory,
    enforcement: { mode: 'gap', required: true },
    realmFound: true,
    resolved: true,
  })
  const known = new Set((memory.uncounted ?? []).map(markText))
  if (uncounted.every((mark) => known.has(markText(mark)))) return undefined
  return { granted: { ...memory, uncounted }, newlyUncounted }
}

function markText({ approver, generation }: { approver: string; generation: number }): string {
  return JSON.stringify([generation, approver])
}

function aboutOf({ metadata, spec }: RoleAssignmentResource) {
  const { uid, generation, namespace, name } = metadata
  return { uid, generation, namespace, name, subjectKind: spec.subject.kind, subjectName: spec.subject.name }
}
