import type { Pool, QueryResult } from 'pg'
import { inTransaction } from '../db.ts'
import type { Db } from '../db.ts'

/** Held shared by every operator transaction and exclusively while leadership changes. */
const LOCK = 7_271_002

/** A newer leader has taken over: this process must not write any more. */
export class Deposed extends Error {
  override readonly name = 'Deposed'
}

/**
 * Becomes the leader in Postgres. Waits for open transactions of the former leader; its later ones fail. Returns the new
 * epoch.
 */
export async function takeEpoch(pool: Pool, holder: string): Promise<number> {
  return inTransaction(pool, async (db) => {
    await db.query('select pg_advisory_xact_lock($1)', [LOCK])
    const { rows } = await db.query<{ epoch: string }>(
      'update operator_epoch set epoch = epoch + 1, holder = $1 returning epoch',
      [holder],
    )
    return Number(rows[0]?.epoch)
  })
}

/** Runs `work` in a transaction that commits only while `epoch` is the current one. Throws Deposed otherwise. */
export async function inFencedTransaction<Result>(
  pool: Pool,
  epoch: number,
  work: (db: Db) => Promise<Result>,
): Promise<Result> {
  return inTransaction(
    pool,
    async (db, begun) => {
      const current = currentEpoch(begun)
      if (Number(current?.epoch) !== epoch) {
        throw new Deposed(
          `epoch ${epoch} is over: ${current?.holder ?? 'no operator'} leads with epoch ${current?.epoch}`,
        )
      }
      return work(db)
    },
    BEGIN_FENCED,
  )
}

// Three statements in one round trip. Each has its own snapshot (READ COMMITTED), so the last one sees the epoch that a
// new leader wrote while this waited for the lock.
const BEGIN_FENCED = `begin; select pg_advisory_xact_lock_shared(${LOCK}); select epoch, holder from operator_epoch`

/** node-postgres answers several statements with the result of each. */
function currentEpoch(begun: QueryResult | QueryResult[]): { epoch: string; holder: string } | undefined {
  return [begun].flat().at(-1)?.rows[0]
}
