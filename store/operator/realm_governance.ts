import { columnsOf } from '../columns.ts'
import type { Db } from '../db.ts'

/** The strongest governance of a realm name, and the Realm that had it. */
export interface RememberedGovernance {
  realm: string
  namespace: string
  name: string
  resourceUid: string
  /** The latest one of that Realm. */
  generation: number
  /** Its members are those of `Strength`. */
  governance: Record<string, boolean | number>
  /** Since when admission has checked every edit of that Realm; null when this is unknown. */
  enforcedSince: Date | null
}

const COLUMNS = columnsOf<RememberedGovernance>({
  realm: 'realm',
  namespace: 'namespace',
  name: 'name',
  resourceUid: 'resource_uid',
  generation: 'generation::integer',
  governance: 'governance',
  enforcedSince: 'enforced_since',
})

export async function findRememberedGovernance(db: Db, realm: string): Promise<RememberedGovernance | undefined> {
  const { rows } = await db.query<RememberedGovernance>(
    `select ${COLUMNS.selected} from realm_governance where realm = $1`,
    [realm],
  )
  return rows[0]
}

export async function saveRememberedGovernance(db: Db, row: RememberedGovernance): Promise<void> {
  await db.query(
    `${COLUMNS.insertInto('realm_governance')}
     on conflict (realm) do update set ${COLUMNS.replacedExcept('realm')}`,
    COLUMNS.values(row),
  )
}

export async function isUnprovenConfirmation(db: Db, confirmation: string): Promise<boolean> {
  const { rows } = await db.query('select 1 from unproven_confirmations where confirmation = $1', [confirmation])
  return rows.length > 0
}

export async function addUnprovenConfirmations(db: Db, confirmations: readonly string[]): Promise<void> {
  await db.query('insert into unproven_confirmations (confirmation) select unnest($1::text[]) on conflict do nothing', [
    confirmations,
  ])
}
