import { columnsOf } from './columns.ts'
import type { Db } from './db.ts'

/** Lifetimes and algorithms of a realm's tokens. Seconds. */
export interface TokenSettings {
  accessTokenLifetimeSeconds: number
  refreshTokenLifetimeSeconds: number
  sessionLifetimeSeconds: number
  refreshTokenReuseGraceSeconds: number
  signingAlgorithm: string
  /** RFC 3339; tokens issued before it are not good. */
  notBefore?: string
}

export interface BruteForceSettings {
  enabled: boolean
  maxFailures: number
  waitIncrementSeconds: number
  maxWaitSeconds: number
  failureResetSeconds: number
}

/** argon2id parameters for new hashes. */
export interface PasswordHashing {
  memoryKiB: number
  iterations: number
  parallelism: number
}

export interface RealmRole {
  name: string
  composites: string[]
}

export interface EncryptionField {
  name: string
  tag: string
  binding: 'Realm' | 'Subject'
  maxValueBytes: number
}

/** The role of those who administer a realm; it exists in every realm. */
export const REALM_ADMIN_ROLE = 'svc-realm-admin'

/** An operation on a field; rewrapping needs the roles of both. */
export type FieldUse = 'encrypt' | 'decrypt'

/** The realm role, and the scope of the same name, that permits one operation on one field. */
export function fieldRole(tag: string, use: FieldUse): string {
  return `_svc_${tag}.self${use}`
}

/** Whether a role or a scope has the shape of a field role, whether or not the field exists. */
export function isFieldRole(word: string): boolean {
  return FIELD_ROLE.test(word)
}

const FIELD_ROLE = /^_svc_[a-z0-9_]{1,48}\.self(?:en|de)crypt$/

/**
 * The preconditions of field encryption, as the operator determined them. Encrypting needs `missing` to be empty and
 * neither time to be past; decrypting continues once a key exists.
 */
export interface EncryptionPreconditions {
  /** Reasons such as `LicenseInvalid`; empty when all are met. */
  missing: string[]
  /** RFC 3339; the server compares it itself. */
  licenseExpiresAt?: string
  /** RFC 3339; when the last granted assignment of svc-realm-admin ends. Absent: it does not end. */
  realmAdminUntil?: string
}

/** A row of `realms`. */
export interface RealmRow {
  realm: string
  resourceUid: string
  namespace: string
  name: string
  generation: number
  enabled: boolean
  displayName: string | null
  tokens: TokenSettings
  bruteForce: BruteForceSettings
  passwordHashing: PasswordHashing
  roles: RealmRole[]
  fields: EncryptionField[]
  encryption: EncryptionPreconditions
  keyringNamespace: string
  keyringName: string
}

const COLUMNS = columnsOf<RealmRow>({
  realm: 'realm',
  resourceUid: 'resource_uid',
  namespace: 'namespace',
  name: 'name',
  generation: 'generation::integer',
  enabled: 'enabled',
  displayName: 'display_name',
  tokens: 'tokens',
  bruteForce: 'brute_force',
  passwordHashing: 'password_hashing',
  roles: 'roles',
  fields: 'fields',
  encryption: 'encryption',
  keyringNamespace: 'keyring_namespace',
  keyringName: 'keyring_name',
})

export async function findRealm(db: Db, realm: string): Promise<RealmRow | undefined> {
  const { rows } = await db.query<RealmRow>(`select ${COLUMNS.selected} from realms where realm = $1`, [realm])
  return rows[0]
}

export async function listRealms(db: Db): Promise<RealmRow[]> {
  const { rows } = await db.query<RealmRow>(`select ${COLUMNS.selected} from realms order by realm`)
  return rows
}

/** Writes the row, also over another resource's row of the realm: the caller has decided which resource owns the name. */
export async function upsertRealm(db: Db, row: RealmRow): Promise<void> {
  await db.query(
    `${COLUMNS.insertInto('realms')}
     on conflict on constraint realms_pkey do update set ${COLUMNS.replacedExcept('realm')}`,
    COLUMNS.values(row),
  )
}

/** Whether the row of a realm is another resource's. Locks the row until the end of the transaction. */
export async function isRealmOfOther(db: Db, realm: string, resourceUid: string): Promise<boolean> {
  const { rows } = await db.query<{ uid: string }>(
    'select resource_uid as uid from realms where realm = $1 for update',
    [realm],
  )
  return rows[0] !== undefined && rows[0].uid !== resourceUid
}

/** Rows under a realm that the transaction of its removal deletes. More would make it long. */
const DELETED_AT_ONCE = 1_000

/**
 * Removes the realm's row, which no login passes without, and at most `limit` rows of configuration under it; the name
 * is free when `deleteRowsOfRealm` has deleted the others. Sessions are ended by the caller.
 */
export async function deleteRealm(db: Db, realm: string, now: Date, limit = DELETED_AT_ONCE): Promise<void> {
  await db.query('delete from realms where realm = $1', [realm])
  await db.query(
    'insert into realm_removals (realm, started_at) values ($1, $2) on conflict on constraint realm_removals_pkey do nothing',
    [realm, now],
  )
  await deleteRowsOfRealm(db, realm, limit)
}

/** Deletes at most `limit` rows of configuration under a removed realm. True when none is left. */
export async function deleteRowsOfRealm(db: Db, realm: string, limit: number): Promise<boolean> {
  // The lock also keeps these deletions from the rows of a realm that takes the name afterwards.
  const { rows } = await db.query('select from realm_removals where realm = $1 for update', [realm])
  if (rows.length === 0) return true
  let left = limit
  for (const [table, key] of ROWS_OF_REALM) {
    const { rowCount } = await db.query(
      `delete from ${table} where realm = $1 and (${key}) in
         (select ${key} from ${table} where realm = $1 order by ${key} limit $2)`,
      [realm, left],
    )
    left -= rowCount ?? 0
    if (left <= 0) return false
  }
  await db.query('delete from realm_removals where realm = $1', [realm])
  return true
}

/** Tables of configuration with the columns that identify a row in a realm. Grants first. */
const ROWS_OF_REALM = [
  ['granted_roles', 'subject_kind, subject, role, assignment_uid'],
  ['role_assignments', 'resource_uid'],
  ['users', 'subject'],
  ['clients', 'client_id'],
] as const

/** Removed realms, under which rows remain. */
export async function listRealmRemovals(db: Db): Promise<string[]> {
  const { rows } = await db.query<{ realm: string }>('select realm from realm_removals order by started_at')
  return rows.map(({ realm }) => realm)
}

/** Whether rows of a removed realm of this name remain, which would belong to a new one. */
export async function isBeingRemoved(db: Db, realm: string): Promise<boolean> {
  const { rows } = await db.query('select from realm_removals where realm = $1', [realm])
  return rows.length > 0
}
