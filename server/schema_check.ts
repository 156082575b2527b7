import type { Logger } from 'pino'
import { isUntrusted } from '../store/db.ts'
import type { Db } from '../store/db.ts'
import { SchemaMismatch, schemaState } from '../store/migrate.ts'

const BEHIND =
  'the schema is older than this process: the operator, or "realmkeeper migrate", has to bring it up to date'

/**
 * Checks the schema once, at start. A database that does not answer is checked again by the readiness check.
 * @throws SchemaMismatch when the schema is too new for this process; an error for which `isUntrusted` holds
 */
export async function refuseNewerSchema(db: Db, log: Logger): Promise<void> {
  try {
    await schemaState(db)
  } catch (error) {
    if (error instanceof SchemaMismatch || isUntrusted(error)) throw error
    log.warn({ err: error }, 'PostgreSQL does not answer: the server starts, and becomes ready when it does')
  }
}

/** @throws Error while the schema is older than this process, SchemaMismatch when it is too new */
export async function requireSchema(db: Db): Promise<void> {
  if ((await schemaState(db)) === 'behind') throw new Error(BEHIND)
}
