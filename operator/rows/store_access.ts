import type { Pool } from 'pg'
import { isUnavailable } from '../../store/db.ts'
import type { Db } from '../../store/db.ts'
import { inFencedTransaction } from '../../store/operator_epoch.ts'

/** How reconcilers reach Postgres: reads anywhere, writes only while this process leads. */
export interface StoreAccess {
  /** For reads outside a transaction. Throws PostgresAway. */
  readonly db: Db
  /**
   * Runs `work` in one transaction that commits only while this process leads. Throws Deposed otherwise, which ends
   * the process, and PostgresAway. A change of what servers cache ends with `noteChange`.
   */
  transaction<Result>(work: (db: Db) => Promise<Result>): Promise<Result>
  now: () => Date
  /** The name of this process in audit chains. */
  readonly auditWriter: string
}

/** Postgres cannot answer now. It is nobody's fault in particular, so everything waits for it. */
export class PostgresAway extends Error {
  override readonly name = 'PostgresAway'
}

/** @param options.epoch what `takeEpoch` returned */
export function storeAccess(options: { pool: Pool; epoch: number; now: () => Date; auditWriter: string }): StoreAccess {
  const { pool, epoch, now, auditWriter } = options
  return {
    db: {
      query: (text, values) => (typeof text === 'string' ? pool.query(text, values) : pool.query(text)).catch(tellAway),
    },
    transaction: (work) => inFencedTransaction(pool, epoch, work).catch(tellAway),
    now,
    auditWriter,
  }
}

function tellAway(error: unknown): never {
  if (isUnavailable(error)) throw new PostgresAway('PostgreSQL is not available', { cause: error })
  throw error
}
