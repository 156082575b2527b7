import type { Pool } from 'pg'
import type { Db } from '../store/db.ts'
import { inFencedTransaction } from '../store/operator_epoch.ts'

/** How reconcilers reach Postgres: reads anywhere, writes only while this process leads. */
export interface StoreAccess {
  /** For reads outside a transaction. */
  readonly db: Db
  /**
   * Runs `work` in one transaction that commits only while this process leads. Throws Deposed otherwise, which ends
   * the process. A change of what servers cache ends with `noteChange`.
   */
  transaction<Result>(work: (db: Db) => Promise<Result>): Promise<Result>
  now: () => Date
  /** The name of this process in audit chains. */
  readonly auditWriter: string
}

/** @param epoch what `takeEpoch` returned */
export function storeAccess(options: { pool: Pool; epoch: number; now: () => Date; auditWriter: string }): StoreAccess {
  const { pool, epoch, now, auditWriter } = options
  return {
    db: pool,
    transaction: (work) => inFencedTransaction(pool, epoch, work),
    now,
    auditWriter,
  }
}
