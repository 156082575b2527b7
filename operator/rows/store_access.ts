import type { Pool } from 'pg'
import { isUnavailable } from '../../store/db.ts'
import type { Db } from '../../store/db.ts'
import { inFencedTransaction } from '../../store/operator/epoch.ts'

/** How reconcilers use Postgres: reads at any time, writes only while this process leads. */
export interface StoreAccess {
  /** For reads. Throws PostgresAway. */
  readonly db: Db
  /**
   * Runs `work` in one transaction that is fenced by the epoch. Throws Deposed when another process leads, which ends
   * this one, and PostgresAway. `work` calls `noteChange` for rows that servers cache.
   */
  transaction<Result>(work: (db: Db) => Promise<Result>): Promise<Result>
  now: () => Date
  /** The name of this process in audit chains. */
  readonly auditWriter: string
}

/** Postgres does not answer. No resource is at fault, so whole queues pause. */
export class PostgresAway extends Error {
  override readonly name = 'PostgresAway'
}

/** @param options.epoch what `takeEpoch` returned */
export function storeAccess(options: { pool: Pool; epoch: number; now: () => Date; auditWriter: string }): StoreAccess {
  const { pool, epoch, now, auditWriter } = options
  return {
    db: {
      query: (text, values) =>
        (typeof text === 'string' ? pool.query(text, values) : pool.query(text)).catch(rethrowOutage),
    },
    transaction: (work) => inFencedTransaction(pool, epoch, work).catch(rethrowOutage),
    now,
    auditWriter,
  }
}

function rethrowOutage(error: unknown): never {
  if (isUnavailable(error)) throw new PostgresAway('PostgreSQL is not available', { cause: error })
  throw error
}
