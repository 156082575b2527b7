import { isDeepStrictEqual } from 'node:util'
import { appendAudit } from '../../store/audit.ts'
import { recordDecision } from '../../store/operator/decisions.ts'
import { endSpecProof, recordProvenSpec } from '../../store/operator/spec_proofs.ts'
import type { WrittenSpec } from '../../store/operator/spec_proofs.ts'
import {
  deleteRoleAssignment,
  findGrantedRoles,
  findRoleAssignmentByUid,
  lockRoleAssignment,
  replaceGrantedRoles,
  upsertRoleAssignment,
} from '../../store/role_assignments.ts'
import type { GrantedRole, GrantSubject, RoleAssignmentRow } from '../../store/role_assignments.ts'
import type { StoreAccess } from '../rows/store_access.ts'
import { ResourceConflict } from '../source/resource_source.ts'
import type { RoleAssignmentResource } from '../view/resource_types.ts'
import type { AuditNote, DecisionResult } from './decision.ts'

/** Which rows `applyDecision` changed. */
export interface AppliedDecision {
  /** Whether rows of `granted_roles` changed. */
  changed: boolean
  /** Whether only those rows differed: rows and stored state are written together, so another writer changed them. */
  drifted: boolean
}

/**
 * Writes a decision in one transaction: stored state, granted roles, new decisions and audit. Writes nothing when
 * everything is equal. Throws ResourceConflict when `row` changed since it was read.
 * @param realm name of the realm; undefined while none admits the RoleAssignment
 * @param provenSpec to record as proven; undefined when nothing new was proven
 */
export async function applyDecision(
  store: StoreAccess,
  { metadata: { uid, namespace, name, generation } }: RoleAssignmentResource,
  {
    realm,
    row,
    provenSpec,
  }: { realm: string | undefined; row: RoleAssignmentRow | undefined; provenSpec?: WrittenSpec | undefined },
  { granted, grantee = NO_SUBJECT, roles, newDecisions, audit }: DecisionResult,
): Promise<AppliedDecision> {
  // Without a realm, the row stays under its former realm. Uncounted approvals are stored even without any realm.
  const rowRealm = realm ?? row?.realm ?? (granted.uncounted ? '' : undefined)
  if (rowRealm === undefined) {
    if (provenSpec) await store.transaction((db) => recordProvenSpec(db, provenSpec))
    return { changed: false, drifted: false }
  }

  const isStored =
    row?.realm === rowRealm &&
    row.generation === generation &&
    isDeepStrictEqual(row.granted, JSON.parse(JSON.stringify(granted)))
  const isServed = sameRoles(await findGrantedRoles(store.db, rowRealm, uid), grantee, roles)
  const isUnchanged = isStored && isServed && newDecisions.length === 0 && audit.length === 0
  if (isUnchanged && !provenSpec) return { changed: false, drifted: false }

  await store.transaction(async (db) => {
    await lockRoleAssignment(db, uid)
    // Between read and write, the enforcement check may have stored uncounted approvals, unknown to this decision.
    const present = await findRoleAssignmentByUid(db, uid)
    if (!isDeepStrictEqual(present, row)) throw new ResourceConflict('its row changed since it was read')
    if (row && row.realm !== rowRealm) await deleteRoleAssignment(db, uid)
    if (!isStored) {
      await upsertRoleAssignment(db, { realm: rowRealm, resourceUid: uid, namespace, name, generation, granted })
    }
    if (provenSpec) await recordProvenSpec(db, provenSpec)
    if (!isServed) await replaceGrantedRoles(db, rowRealm, uid, grantee, roles)
    for (const decision of newDecisions) await recordDecision(db, decision)
    await appendAudit(db, store.auditWriter, auditEntries(audit, rowRealm, store.now()))
  })
  return { changed: !isServed, drifted: isStored && !isServed }
}

/** Deletes the rows of a RoleAssignment that is being deleted, or is gone. */
export async function applyDeletion(
  store: StoreAccess,
  { uid, generation }: { uid: string; generation: number },
  realm: string | undefined,
  audit: readonly AuditNote[],
): Promise<void> {
  await store.transaction(async (db) => {
    await deleteRoleAssignment(db, uid)
    await endSpecProof(db, { assignmentUid: uid, generation })
    await appendAudit(db, store.auditWriter, auditEntries(audit, realm ?? '', store.now()))
  })
}

/** Deletes the rows of a RoleAssignment that disappeared without being finalized. */
export async function deleteOrphanedRow(store: StoreAccess, row: Omit<RoleAssignmentRow, 'granted'>): Promise<void> {
  const { realm, resourceUid, namespace, name, generation } = row
  const details = { assignment: `${namespace}/${name}`, assignmentUid: resourceUid, cause: 'resource_gone' }
  await applyDeletion(store, { uid: resourceUid, generation }, realm, [{ action: 'roles_revoked', details }])
}

/** For a decision that grants no roles. */
const NO_SUBJECT: GrantSubject = { kind: 'User', subject: '' }

function sameRoles(
  present: readonly (GrantedRole & GrantSubject)[],
  grantee: GrantSubject,
  roles: readonly GrantedRole[],
): boolean {
  const text = (list: readonly (GrantedRole & GrantSubject)[]): string =>
    list
      .map(({ kind, subject, role, expiresAt }) => JSON.stringify([kind, subject, role, expiresAt]))
      .toSorted()
      .join()
  return text(present) === text(roles.map((role) => ({ ...role, ...grantee })))
}

function auditEntries(notes: readonly AuditNote[], realm: string, at: Date) {
  return notes.map((note) => ({ ...note, realm, at }))
}
