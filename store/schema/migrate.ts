import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import type { Db } from '../db.ts'
import { grantRights } from './database_roles.ts'
import type { DatabaseRoles } from './database_roles.ts'

const FOLDER = fileURLToPath(new URL('../migrations/', import.meta.url))
/** Any number that no other application on the same database uses for its advisory locks. */
const LOCK = 7_271_001
/** SQLSTATE */
const INSUFFICIENT_PRIVILEGE = '42501'

export interface Migration {
  id: number
  name: string
  breaking: boolean
  sql: string
}

/** The known migrations, in order. A first line `--! breaking` marks one that older processes cannot run with. */
export async function knownMigrations(): Promise<Migration[]> {
  const files = (await readdir(FOLDER)).filter((file) => file.endsWith('.sql')).toSorted()
  return Promise.all(
    files.map(async (file) => {
      const sql = await readFile(`${FOLDER}${file}`, 'utf8')
      return { id: Number(file.slice(0, 6)), name: file.slice(7, -4), breaking: sql.startsWith('--! breaking'), sql }
    }),
  )
}

/** The schema of the database does not fit this process; the message names both versions and says what to do. */
export class SchemaMismatch extends Error {
  override readonly name = 'SchemaMismatch'
  /** As PlainError of process/: shown without a stack. */
  readonly plain = true
}

/** The schema waits for a migration. */
export class SchemaBehind extends Error {
  override readonly name = 'SchemaBehind'
  readonly plain = true
}

/**
 * Migrates the schema to the newest known version, forward only. One of several processes migrates while the others
 * wait for its lock; a killed process leaves the schema between two migrations, never inside one. Returns the names of
 * the applied migrations. A role without the right to do so finds out whether something is left to do.
 * @param options.roles get their rights on the tables, also when there is nothing to migrate
 * @throws SchemaMismatch when the database is ahead by a breaking migration, SchemaBehind when this role may not migrate
 * it, DatabaseRoleError
 */
export async function migrate(
  connectionString: string,
  { migrations, roles = {} }: { migrations?: Migration[]; roles?: DatabaseRoles } = {},
): Promise<string[]> {
  const known = migrations ?? (await knownMigrations())
  const hasRoles = roles.server !== undefined || roles.operator !== undefined
  const client = new pg.Client({
    connectionString,
    application_name: 'realmkeeper-migrate',
    connectionTimeoutMillis: 5_000,
  })
  client.on('error', () => {})
  await client.connect()
  try {
    if (!hasRoles && (await schemaState(client, known)) === 'current') return []
    await client.query('select pg_advisory_lock($1)', [LOCK])
    await client.query(`create table if not exists migrations (
      id bigint primary key, name text not null, breaking boolean not null, applied_at timestamptz not null default now())`)
    const applied = await appliedMigrations(client)
    refuseNewerBreaking(known, applied)
    const missing = known.filter((migration) => !applied.some(({ id }) => id === migration.id))
    for (const { id, name, breaking, sql } of missing) {
      await client.query('begin')
      // The row first: if two processes ever ran this, one would fail before it changes anything.
      await client.query('insert into migrations (id, name, breaking) values ($1, $2, $3)', [id, name, breaking])
      await client.query(sql)
      // A process that waits for this migration needs its rights with it.
      if (hasRoles && id === known.at(-1)?.id) await grantRights(client, roles)
      await client.query('commit')
    }
    // A newer version knows better what its tables need.
    const isNewest = (applied.at(-1)?.id ?? 0) <= (known.at(-1)?.id ?? 0)
    if (hasRoles && missing.length === 0 && isNewest) {
      await client.query('begin')
      await grantRights(client, roles)
      await client.query('commit')
    }
    return missing.map(({ name }) => name)
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== INSUFFICIENT_PRIVILEGE) throw error
    throw new SchemaBehind(
      `the database role ${client.user} may not change the schema or grant rights (${error.message}): run "realmkeeper migrate" ` +
        'as the owner of the tables, or give its URL to the operator (--migrate-database-url)',
    )
  } finally {
    await client.end()
  }
}

/**
 * The check of a process that does not migrate, before it serves. 'behind': the operator has not migrated yet, so wait.
 * Throws SchemaMismatch when this process is too old.
 */
export async function schemaState(db: Db, migrations?: Migration[]): Promise<'current' | 'behind'> {
  const known = migrations ?? (await knownMigrations())
  const { rows } = await db.query<{ exists: boolean }>(`select to_regclass('migrations') is not null as exists`)
  if (!rows[0]?.exists) return 'behind'
  const applied = await appliedMigrations(db)
  refuseNewerBreaking(known, applied)
  return known.every((migration) => applied.some(({ id }) => id === migration.id)) ? 'current' : 'behind'
}

/** @throws Error while the schema is older than this process, SchemaMismatch when it is too new */
export async function requireSchema(db: Db): Promise<void> {
  if ((await schemaState(db)) === 'current') return
  throw new SchemaBehind(
    'the schema is older than this process: the operator, or "realmkeeper migrate", has to bring it up to date',
  )
}

interface AppliedMigration {
  id: number
  name: string
  breaking: boolean
}

async function appliedMigrations(db: Pick<Db, 'query'>): Promise<AppliedMigration[]> {
  const { rows } = await db.query<AppliedMigration>(
    'select id::integer as id, name, breaking from migrations order by id',
  )
  return rows
}

function refuseNewerBreaking(known: Migration[], applied: AppliedMigration[]): void {
  const newest = known.at(-1)?.id ?? 0
  const tooNew = applied.find(({ id, breaking }) => id > newest && breaking)
  if (!tooNew) return
  throw new SchemaMismatch(
    `the database has schema version ${tooNew.id} (${tooNew.name}), which processes that know only version ${newest} ` +
      'cannot work with: run the version of realmkeeper that migrated it, or a newer one',
  )
}
