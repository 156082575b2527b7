import { columnsOf } from '../columns.ts'
import type { Db } from '../db.ts'

/**
 * What one generation of a RoleAssignment says. The digest of its spec tells apart generations that a restored cluster
 * repeats.
 */
export interface WrittenSpec {
  assignmentUid: string
  generation: number
  digest: string
}

/** Whether the admission policies were in force when this spec was written. */
export interface SpecProof extends WrittenSpec {
  proven: boolean
}

const COLUMNS = columnsOf<SpecProof>({
  assignmentUid: 'assignment_uid',
  generation: 'generation::integer',
  digest: 'digest',
  proven: 'proven',
})

/** Of the latest generation that the operator knows; undefined when it knows none. */
export async function findSpecProof(db: Db, assignmentUid: string): Promise<SpecProof | undefined> {
  const { rows } = await db.query<SpecProof>(`select ${COLUMNS.selected} from spec_proofs where assignment_uid = $1`, [
    assignmentUid,
  ])
  return rows[0]
}

/** Does not replace a mark of the same or a later generation. */
export async function recordProvenSpec(db: Db, spec: WrittenSpec): Promise<void> {
  await db.query(
    `${COLUMNS.insertInto('spec_proofs')}
     on conflict (assignment_uid) do update set ${COLUMNS.replacedExcept('assignmentUid')}
      where spec_proofs.generation < excluded.generation
         or (spec_proofs.generation = excluded.generation and spec_proofs.proven)`,
    COLUMNS.values({ ...spec, proven: true }),
  )
}

/**
 * Marks each spec as unproven, unless exactly this spec, or a later generation, is already known. Returns how many it
 * marked. Each uid may occur once.
 */
export async function markSpecsUnproven(db: Db, specs: readonly WrittenSpec[]): Promise<number> {
  const { rowCount } = await db.query(
    `insert into spec_proofs (assignment_uid, generation, digest, proven)
     select *, false from unnest($1::text[], $2::bigint[], $3::text[])
     on conflict (assignment_uid) do update set ${COLUMNS.replacedExcept('assignmentUid')}
      where spec_proofs.generation < excluded.generation
         or (spec_proofs.generation = excluded.generation and spec_proofs.digest <> excluded.digest)`,
    [
      specs.map(({ assignmentUid }) => assignmentUid),
      specs.map(({ generation }) => generation),
      specs.map(({ digest }) => digest),
    ],
  )
  return rowCount ?? 0
}

/**
 * For a deleted RoleAssignment: marks its spec as unproven. A restored cluster may bring the object back, and what it had
 * been granted must not come back with it.
 */
export async function endSpecProof(db: Db, { assignmentUid, generation }: Omit<WrittenSpec, 'digest'>): Promise<void> {
  await db.query(
    `insert into spec_proofs (assignment_uid, generation, digest, proven) values ($1, $2, '', false)
     on conflict (assignment_uid) do update
        set proven = false, generation = greatest(spec_proofs.generation, excluded.generation)`,
    [assignmentUid, generation],
  )
}
