import { columnsOf } from '../columns.ts'
import type { Db } from '../db.ts'

/** A decision as the operator recorded it. */
export interface DecisionRow {
  assignmentUid: string
  generation: number
  realm: string
  namespace: string
  name: string
  approver: string
  decision: 'Approved' | 'Denied'
  form: 'entry' | 'condition'
  recordedAt: Date
}

const COLUMNS = columnsOf<DecisionRow>({
  assignmentUid: 'assignment_uid',
  generation: 'generation::integer',
  realm: 'realm',
  namespace: 'namespace',
  name: 'name',
  approver: 'approver',
  decision: 'decision',
  form: 'form',
  recordedAt: 'recorded_at',
})

export async function listDecisions(db: Db, assignmentUid: string): Promise<DecisionRow[]> {
  const { rows } = await db.query<DecisionRow>(
    `select ${COLUMNS.selected} from decisions where assignment_uid = $1 order by generation, recorded_at, approver`,
    [assignmentUid],
  )
  return rows
}

/**
 * Records one approver's decision on one generation. A name counts once, in any letter case; Approved may become
 * Denied, and Denied is final. True when a row was written.
 */
export async function recordDecision(db: Db, decision: DecisionRow): Promise<boolean> {
  const { rowCount } = await db.query(
    `${COLUMNS.insertInto('decisions', 'approver_key')}
     on conflict on constraint decisions_pkey do update
        set decision = excluded.decision, form = excluded.form, recorded_at = excluded.recorded_at
      where decisions.decision = 'Approved' and excluded.decision = 'Denied'`,
    [...COLUMNS.values(decision), decision.approver.toLowerCase()],
  )
  return rowCount === 1
}
