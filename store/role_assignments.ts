import { columnsOf } from './columns.ts'
import type { Db } from './db.ts'
import { inPages } from './pages.ts'
import { REALM_ADMIN_ROLE } from './realms.ts'

/** A row of `role_assignments`: the operator's copy of what it granted; `Granted` is the operator's own type. */
export interface RoleAssignmentRow<Granted = unknown> {
  realm: string
  resourceUid: string
  namespace: string
  name: string
  generation: number
  granted: Granted | null
}

const COLUMNS = columnsOf<RoleAssignmentRow>({
  realm: 'realm',
  resourceUid: 'resource_uid',
  namespace: 'namespace',
  name: 'name',
  generation: 'generation::integer',
  granted: 'granted',
})

/** One granted role, of a User (subject is the `sub`) or of the realm's default group. */
export interface GrantedRole {
  role: string
  /** Null: until it is revoked. */
  expiresAt: Date | null
}

export interface GrantSubject {
  kind: 'User' | 'Group'
  /** The `sub`, or `default-roles-<realm>`. */
  subject: string
}

/** The row of a resource in any realm: the realm that it was written for may be deleted. */
export async function findRoleAssignmentByUid<Granted>(
  db: Db,
  resourceUid: string,
): Promise<RoleAssignmentRow<Granted> | undefined> {
  const { rows } = await db.query<RoleAssignmentRow<Granted>>(
    `select ${COLUMNS.selected} from role_assignments where resource_uid = $1`,
    [resourceUid],
  )
  return rows[0]
}

/**
 * Locks the row of this resource until the end of the transaction. A separate statement, because only a later one sees
 * what the former holder of the lock wrote.
 */
export async function lockRoleAssignment(db: Db, resourceUid: string): Promise<void> {
  await db.query('select pg_advisory_xact_lock(hashtextextended($1, 7271004))', [resourceUid])
}

/** All rows, page by page: there may be hundreds of thousands. */
export function readRoleAssignments<Granted>(db: Db): AsyncIterable<RoleAssignmentRow<Granted>[]> {
  return inPages(async (after, limit) => {
    const { rows } = await db.query<RoleAssignmentRow<Granted>>(
      `select ${COLUMNS.selected} from role_assignments where (realm, resource_uid) > ($1, $2)
        order by realm, resource_uid limit $3`,
      [after?.realm ?? '', after?.resourceUid ?? '', limit],
    )
    return rows
  })
}

export async function upsertRoleAssignment(db: Db, row: RoleAssignmentRow): Promise<void> {
  await db.query(
    `${COLUMNS.insertInto('role_assignments')}
     on conflict on constraint role_assignments_pkey do update set ${COLUMNS.replacedExcept('realm', 'resourceUid')}`,
    COLUMNS.values(row),
  )
}

/** The roles that one assignment grants. */
export async function findGrantedRoles(
  db: Db,
  realm: string,
  assignmentUid: string,
): Promise<(GrantedRole & GrantSubject)[]> {
  const { rows } = await db.query<GrantedRole & GrantSubject>(
    `select role, expires_at as "expiresAt", subject_kind as kind, subject
       from granted_roles where realm = $1 and assignment_uid = $2 order by role`,
    [realm, assignmentUid],
  )
  return rows
}

/** Replaces the roles that one assignment grants; an empty list revokes all of them. */
export async function replaceGrantedRoles(
  db: Db,
  realm: string,
  assignmentUid: string,
  subject: GrantSubject,
  roles: GrantedRole[],
): Promise<void> {
  await db.query(
    `delete from granted_roles
      where realm = $1 and assignment_uid = $2
        and not (subject_kind = $3 and subject = $4 and role = any ($5))`,
    [realm, assignmentUid, subject.kind, subject.subject, roles.map(({ role }) => role)],
  )
  if (roles.length === 0) return
  await db.query(
    `insert into granted_roles (realm, subject_kind, subject, role, assignment_uid, expires_at)
     select $1, $3, $4, role, $2, expires_at from unnest($5::text[], $6::timestamptz[]) as given (role, expires_at)
     on conflict on constraint granted_roles_pkey do update set expires_at = excluded.expires_at
      where granted_roles.expires_at is distinct from excluded.expires_at`,
    [
      realm,
      assignmentUid,
      subject.kind,
      subject.subject,
      roles.map(({ role }) => role),
      roles.map(({ expiresAt }) => expiresAt),
    ],
  )
}

/** Deletes an assignment and the roles that it granted. */
export async function deleteRoleAssignment(db: Db, resourceUid: string): Promise<void> {
  await db.query('delete from granted_roles where assignment_uid = $1', [resourceUid])
  await db.query('delete from role_assignments where resource_uid = $1', [resourceUid])
}

/** The uids of assignments that have granted roles and no row. */
export async function listStrayGrants(db: Db): Promise<string[]> {
  const { rows } = await db.query<{ uid: string }>(
    `select distinct assignment_uid as uid from granted_roles
      where not exists (select from role_assignments where resource_uid = assignment_uid)`,
  )
  return rows.map(({ uid }) => uid)
}

/** Deletes the granted roles of one assignment, unless it has a row. True when there were any. */
export async function deleteStrayGrants(db: Db, assignmentUid: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `delete from granted_roles
      where assignment_uid = $1 and not exists (select from role_assignments where resource_uid = $1)`,
    [assignmentUid],
  )
  return (rowCount ?? 0) > 0
}

/** Deletes the roles granted to one User. The caller reconciles the assignments again. */
export async function deleteGrantsOfSubject(db: Db, realm: string, subject: string): Promise<void> {
  await db.query(`delete from granted_roles where realm = $1 and subject_kind = 'User' and subject = $2`, [
    realm,
    subject,
  ])
}

/** The roles granted to the realm's default group now, which every user holds. Sorted. */
export async function findDefaultRoles(db: Db, realm: string, now: Date): Promise<string[]> {
  const { rows } = await db.query<{ role: string }>(
    `select distinct role collate "C" as role from granted_roles
      where realm = $1 and subject_kind = 'Group' and subject = 'default-roles-' || $1
        and (expires_at is null or expires_at > $2)
      order by 1`,
    [realm, now],
  )
  return rows.map(({ role }) => role)
}

/**
 * The end of the longest grant of svc-realm-admin in the realm: undefined without a grant at `now`, null when one does
 * not end.
 */
export async function realmAdminUntil(db: Db, realm: string, now: Date): Promise<Date | null | undefined> {
  // The role is part of the text, as in the condition of its index.
  const { rows } = await db.query<{ expiresAt: Date | null }>(
    `select expires_at as "expiresAt" from granted_roles
      where realm = $1 and role = '${REALM_ADMIN_ROLE}' and (expires_at is null or expires_at > $2)
      order by expires_at desc nulls first limit 1`,
    [realm, now],
  )
  return rows[0]?.expiresAt
}
