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

export async function listDecisions(db: Db, assignmentUid: string): Promise<DecisionRow[]> {
  const { rows } = await db.query<DecisionRow>(
    `select assignment_uid as "assignmentUid", generation::integer as generation, realm, namespace, name,
            approver, decision, form, recorded_at as "recordedAt"
       from decisions where assignment_uid = $1 order by generation, recorded_at, approver`,
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
    `insert into decisions
       (assignment_uid, generation, approver_key, realm, namespace, name, approver, decision, form, recorded_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     on conflict on constraint decisions_pkey do update
        set decision = excluded.decision, form = excluded.form, recorded_at = excluded.recorded_at
      where decisions.decision = 'Approved' and excluded.decision = 'Denied'`,
    [
      decision.assignmentUid,
      decision.generation,
      decision.approver.toLowerCase(),
      decision.realm,
      decision.namespace,
      decision.name,
      decision.approver,
      decision.decision,
      decision.form,
      decision.recordedAt,
    ],
  )
  return rowCount === 1
}
