import { appendAudit } from '../../store/audit.ts'
import { deleteRoleAssignment } from '../../store/role_assignments.ts'
import type { RoleAssignmentRow } from '../../store/role_assignments.ts'
import type { StoreAccess } from '../rows/store_access.ts'

/** Ends what an assignment gave whose object is gone without having told. */
export async function endOrphan(
  store: StoreAccess,
  { realm, resourceUid, namespace, name }: RoleAssignmentRow,
): Promise<void> {
  await store.transaction(async (db) => {
    await deleteRoleAssignment(db, resourceUid)
    const details = { assignment: `${namespace}/${name}`, assignmentUid: resourceUid, cause: 'resource_gone' }
    await appendAudit(db, store.auditWriter, [{ at: store.now(), action: 'roles_revoked', realm, details }])
  })
}
