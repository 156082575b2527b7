import type { Db } from './db.ts'

/** The owner of a `sub`: one (namespace, User name), for ever. */
export interface SubjectOwner {
  namespace: string
  name: string
}

/**
 * Records that this User owns this `sub`, unless it has an owner. Returns the owner: another User when the sub was
 * taken, even by a User that was deleted, because values may be encrypted for it.
 */
export async function claimSubject(
  db: Db,
  realm: string,
  subject: string,
  claimant: SubjectOwner,
  now: Date,
): Promise<SubjectOwner> {
  // The update changes nothing; it makes the statement return the row that is there, seen under its lock.
  const { rows } = await db.query<SubjectOwner>({
    name: 'claim_subject',
    text: `insert into subjects (realm, subject, namespace, name, first_seen) values ($1, $2, $3, $4, $5)
           on conflict on constraint subjects_pkey do update set subject = excluded.subject
           returning namespace, name`,
    values: [realm, subject, claimant.namespace, claimant.name, now],
  })
  return rows[0] ?? claimant
}

/** The owner of a `sub`; undefined for one that was never used. */
export async function findSubjectOwner(db: Db, realm: string, subject: string): Promise<SubjectOwner | undefined> {
  const { rows } = await db.query<SubjectOwner>(
    'select namespace, name from subjects where realm = $1 and subject = $2',
    [realm, subject],
  )
  return rows[0]
}
