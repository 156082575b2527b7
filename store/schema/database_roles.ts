import { escapeIdentifier } from 'pg'
import type { Db } from '../db.ts'

/** Roles of PostgreSQL that processes log in with, where these are not the owner of the tables. */
export interface DatabaseRoles {
  server?: string | undefined
  operator?: string | undefined
}

/** A role cannot be given its rights. The message says what to do. */
export class DatabaseRoleError extends Error {
  override readonly name = 'DatabaseRoleError'
  /** As PlainError of process/: shown without a stack. */
  readonly plain = true
}

/** What a server may do. It has no right on a table that is not listed. */
const SERVER_RIGHTS: Record<string, string> = {
  migrations: 'select',
  // Without a right on a column, a login could not lock the rows of its realm, its client and its user.
  realms: 'select, update (login_lock)',
  clients: 'select, update (login_lock)',
  users: 'select, update (password_hash)',
  granted_roles: 'select',
  change_counter: 'select',
  changes: 'select',
  keyring_records: 'select',
  recorded_keys: 'select',
  key_versions: 'select',
  session_ends: 'select',
  session_end_counter: 'select',
  sessions: 'select, insert, update',
  login_failures: 'select, insert, update, delete',
  replicas: 'select, insert, update, delete',
  audit: 'select, insert',
}

/** What an operator may do, except where it may do everything with rows. */
const OPERATOR_RIGHTS: Record<string, string> = {
  migrations: 'select',
  audit: 'select, insert',
}

/**
 * Gives each role its rights on the present tables and takes all others. Call it in a transaction of the owner.
 * @throws DatabaseRoleError when a role does not exist, or has rights that cannot be limited here
 */
export async function grantRights(db: Db, { server, operator }: DatabaseRoles): Promise<void> {
  if (server !== undefined && server === operator) {
    throw new DatabaseRoleError(`servers and operators need different roles, and ${server} is given for both`)
  }
  const tables = await ownTables(db)
  if (server !== undefined) await grantTo(db, server, (table) => SERVER_RIGHTS[table], tables)
  if (operator !== undefined) {
    const allRows = 'select, insert, update, delete'
    await grantTo(db, operator, (table) => OPERATOR_RIGHTS[table] ?? allRows, tables)
  }
}

async function grantTo(
  db: Db,
  role: string,
  rightsOn: (table: string) => string | undefined,
  tables: string[],
): Promise<void> {
  await refuseUnlimited(db, role)
  const to = escapeIdentifier(role)
  for (const table of tables) {
    await db.query(`revoke all on ${escapeIdentifier(table)} from ${to}`)
    const rights = rightsOn(table)
    if (rights !== undefined) await db.query(`grant ${rights} on ${escapeIdentifier(table)} to ${to}`)
  }
  await refuseCreate(db, role)
}

/** The tables of the schema that belong to the owner of the audit. */
async function ownTables(db: Db): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(
    `select t.relname as name from pg_class t join pg_class audit on audit.oid = 'audit'::regclass
      where t.relkind = 'r' and t.relnamespace = audit.relnamespace and t.relowner = audit.relowner order by name`,
  )
  return rows.map(({ name }) => name)
}

/** No REVOKE takes a right from a superuser, or from a member of the owner. */
async function refuseUnlimited(db: Db, role: string): Promise<void> {
  const { rows } = await db.query<{ isSuperuser: boolean; isOwner: boolean }>(
    `select r.rolsuper as "isSuperuser", pg_has_role(r.oid, audit.relowner, 'member') as "isOwner"
       from pg_roles r, pg_class audit where r.rolname = $1 and audit.oid = 'audit'::regclass`,
    [role],
  )
  const [found] = rows
  if (!found) {
    throw new DatabaseRoleError(
      `the database role ${role} does not exist: create it with CREATE ROLE ${escapeIdentifier(role)} LOGIN PASSWORD '…'`,
    )
  }
  if (!found.isSuperuser && !found.isOwner) return
  const why = found.isSuperuser ? 'it is a superuser' : 'it owns the tables, or is a member of the role that owns them'
  throw new DatabaseRoleError(`the rights of the database role ${role} cannot be limited, because ${why}: use another`)
}

/** PostgreSQL 14 lets every role create tables in the schema `public`. */
async function refuseCreate(db: Db, role: string): Promise<void> {
  const { rows } = await db.query<{ schema: string; canCreate: boolean; canUse: boolean }>(
    `select nspname as schema, has_schema_privilege($1, oid, 'create') as "canCreate",
            has_schema_privilege($1, oid, 'usage') as "canUse"
       from pg_namespace where oid = (select relnamespace from pg_class where oid = 'audit'::regclass)`,
    [role],
  )
  const { schema = '', canCreate = false, canUse = true } = rows[0] ?? {}
  if (!canUse) await db.query(`grant usage on schema ${escapeIdentifier(schema)} to ${escapeIdentifier(role)}`)
  if (!canCreate) return
  throw new DatabaseRoleError(
    `the database role ${role} may create tables in the schema ${schema}: as the owner of the schema, run ` +
      `REVOKE CREATE ON SCHEMA ${escapeIdentifier(schema)} FROM PUBLIC, ${escapeIdentifier(role)}`,
  )
}
