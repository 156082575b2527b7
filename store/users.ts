import { columnsOf } from './columns.ts'
import { isUniqueViolation } from './db.ts'
import type { Db } from './db.ts'
import { inPages } from './pages.ts'
import { usernameKey } from './username.ts'

/** A row of `users`. */
export interface UserRow {
  realm: string
  /** The `sub` of the user's tokens. */
  subject: string
  resourceUid: string
  namespace: string
  name: string
  generation: number
  username: string
  email: string | null
  emailVerified: boolean
  firstName: string | null
  lastName: string | null
  enabled: boolean
  attributes: Record<string, string[]>
  /** Whether the resource sets `spec.subject`; subject-bound fields encrypt for such users only. */
  subjectPinned: boolean
  /** argon2id, PHC text. Null: the user cannot log in with a password. */
  passwordHash: string | null
  /** The Secret, and its version, that the hash was made from. */
  passwordSource: string | null
}

const COLUMNS = columnsOf<UserRow>({
  realm: 'realm',
  subject: 'subject',
  resourceUid: 'resource_uid',
  namespace: 'namespace',
  name: 'name',
  generation: 'generation::integer',
  username: 'username',
  email: 'email',
  emailVerified: 'email_verified',
  firstName: 'first_name',
  lastName: 'last_name',
  enabled: 'enabled',
  attributes: 'attributes',
  subjectPinned: 'subject_pinned',
  passwordHash: 'password_hash',
  passwordSource: 'password_source',
})

/** The user with this name; case and Unicode form do not matter (`usernameKey`). */
export async function findUserByUsername(db: Db, realm: string, username: string): Promise<UserRow | undefined> {
  const { rows } = await db.query<UserRow>({
    name: 'find_user_by_username',
    text: `select ${COLUMNS.selected} from users where realm = $1 and username_key = $2`,
    values: [realm, usernameKey(username)],
  })
  return rows[0]
}

export async function findUserByUid(db: Db, realm: string, resourceUid: string): Promise<UserRow | undefined> {
  const { rows } = await db.query<UserRow>({
    name: 'find_user_by_uid',
    text: `select ${COLUMNS.selected} from users where realm = $1 and resource_uid = $2`,
    values: [realm, resourceUid],
  })
  return rows[0]
}

/** All users, page by page: there may be hundreds of thousands. */
export function readUsers(db: Db): AsyncIterable<UserRow[]> {
  return inPages(async (after, limit) => {
    const { rows } = await db.query<UserRow>(
      `select ${COLUMNS.selected} from users where (realm, subject) > ($1, $2) order by realm, subject limit $3`,
      [after?.realm ?? '', after?.subject ?? '', limit],
    )
    return rows
  })
}

/** 'written', or the name that another User holds. */
export type UserSaved = 'written' | 'username_taken' | 'subject_taken'

/**
 * Writes the row of one resource. The subject must have been claimed before (`claimSubject`). A conflict aborts the
 * transaction that this runs in, so it is the caller's only write or its last one.
 */
export async function upsertUser(db: Db, row: UserRow): Promise<UserSaved> {
  try {
    const { rowCount } = await db.query({
      name: 'upsert_user',
      text: `${COLUMNS.insertInto('users', 'username_key')}
             on conflict on constraint users_pkey do update
                set username_key = excluded.username_key, ${COLUMNS.replacedExcept('realm', 'subject')}
              where users.namespace = excluded.namespace and users.name = excluded.name`,
      values: [...COLUMNS.values(row), usernameKey(row.username)],
    })
    return rowCount === 1 ? 'written' : 'subject_taken'
  } catch (error) {
    if (isUniqueViolation(error, 'users_username')) return 'username_taken'
    if (isUniqueViolation(error, 'users_resource_uid')) return 'subject_taken'
    throw error
  }
}

/**
 * What stands before the salt in the password hashes of a realm, each once: algorithm, version and parameters. Reads
 * every user of the realm.
 */
export async function listHashHeads(db: Db, realm: string): Promise<string[]> {
  const { rows } = await db.query<{ head: string }>(
    `select distinct substring(password_hash from '^[$]argon2id[$]v=19[$][a-z0-9=,]{1,40}[$]') as head
       from users where realm = $1 and password_hash is not null`,
    [realm],
  )
  return rows.map(({ head }) => head).filter((head) => head !== null)
}

/** Replaces a hash that was made with other parameters, unless the password has changed since. */
export async function renewPasswordHash(
  db: Db,
  user: { realm: string; subject: string; passwordHash: string },
  renewed: string,
): Promise<void> {
  await db.query(`update users set password_hash = $4 where realm = $1 and subject = $2 and password_hash = $3`, [
    user.realm,
    user.subject,
    user.passwordHash,
    renewed,
  ])
}

/** Returns the deleted row, so that the caller can end the user's sessions. */
export async function deleteUser(db: Db, resourceUid: string): Promise<{ realm: string; subject: string } | undefined> {
  const { rows } = await db.query<{ realm: string; subject: string }>(
    `delete from users where resource_uid = $1 returning realm, subject`,
    [resourceUid],
  )
  return rows[0]
}

/** The permanent owner of a `sub`: one namespace and name of a User. */
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
