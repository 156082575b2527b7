import type { Db } from '../db.ts'

/** uid and generation of each object that enforces approval, by `Kind/name`. */
export type PolicyIdentities = Record<string, { uid: string; generation: number }>

/** The last proof that the admission policies act. */
export interface EnforcementRecord {
  identities: PolicyIdentities
  /** The start of the present gap in enforcement, if there is one. */
  gapSince: Date | null
  /** Whether every status agreed with its row since the gap: from then on only the operator wrote them. */
  statusesAgree: boolean
  /** The namespaces of the RoleAssignments that were marked when the last gap ended; null: all. */
  scope: readonly string[] | null
  /** Digests of those recorded objects that equal what the release shipped, by `Kind/name`. */
  shipped: Record<string, string>
  /** Whether uids and generations alone show all that the present gap consists of. */
  gapRevealed: boolean
  /** The end of the last gap; null when there was none yet. */
  enforcedSince: Date | null
}

/** Undefined before the first proof on this database. */
export async function findEnforcementRecord(db: Db): Promise<EnforcementRecord | undefined> {
  const { rows } = await db.query<EnforcementRecord>(
    `select identities, gap_since as "gapSince", statuses_agree as "statusesAgree", scope, shipped,
            gap_revealed as "gapRevealed", enforced_since as "enforcedSince"
       from approval_enforcement`,
  )
  return rows[0]
}

export async function saveEnforcementRecord(db: Db, record: EnforcementRecord): Promise<void> {
  await db.query(
    `insert into approval_enforcement (identities, gap_since, statuses_agree, scope, shipped, gap_revealed,
       enforced_since)
     values ($1, $2, $3, $4, $5, $6, $7)
     on conflict (one) do update
        set identities = excluded.identities, gap_since = excluded.gap_since, statuses_agree = excluded.statuses_agree,
            scope = excluded.scope, shipped = excluded.shipped, gap_revealed = excluded.gap_revealed,
            enforced_since = excluded.enforced_since`,
    [
      JSON.stringify(record.identities),
      record.gapSince,
      record.statusesAgree,
      record.scope && JSON.stringify(record.scope),
      JSON.stringify(record.shipped),
      record.gapRevealed,
      record.enforcedSince,
    ],
  )
}
