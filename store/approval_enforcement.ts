import type { Db } from './db.ts'

/** uid and generation of each object that approval hangs on, by `Kind/name`. */
export type PolicyIdentities = Record<string, { uid: string; generation: number }>

/** What was last proven of the admission policies. */
export interface EnforcementRecord {
  identities: PolicyIdentities
  /** Since when they were known not to hold, if that has not ended. */
  gapSince: Date | null
  /** Whether every status was seen to agree with its row since: from then on nobody but the operator wrote them. */
  statusesAgree: boolean
}

/** Undefined before anything was proven on this database. */
export async function findEnforcementRecord(db: Db): Promise<EnforcementRecord | undefined> {
  const { rows } = await db.query<EnforcementRecord>(
    `select identities, gap_since as "gapSince", statuses_agree as "statusesAgree" from approval_enforcement`,
  )
  return rows[0]
}

export async function saveEnforcementRecord(db: Db, record: EnforcementRecord): Promise<void> {
  await db.query(
    `insert into approval_enforcement (identities, gap_since, statuses_agree) values ($1, $2, $3)
     on conflict (one) do update
        set identities = excluded.identities, gap_since = excluded.gap_since, statuses_agree = excluded.statuses_agree`,
    [JSON.stringify(record.identities), record.gapSince, record.statusesAgree],
  )
}
