import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { columnsOf } from './columns.ts'
import { isUniqueViolation } from './db.ts'
import type { Db } from './db.ts'

/** What a client may do and what its tokens carry, resolved by the operator. */
export interface ClientSettings {
  displayName?: string
  grantTypes: string[]
  /** Origins; `+` is already replaced by the origins of the redirect URIs. */
  webOrigins: string[]
  fullScopeAllowed: boolean
  /** Expanded over composites; used when fullScopeAllowed is false. */
  allowedRoles: string[]
  /** Client ids that access tokens are also for; only those that accept it. */
  audiences: string[]
  defaultScopes: string[]
  optionalScopes: string[]
  accessTokenLifetimeSeconds?: number
  accessTokenType: 'at+jwt' | 'JWT'
}

/** A row of `clients`. Secrets are held as salted SHA-256. */
export interface ClientRow {
  realm: string
  clientId: string
  resourceUid: string
  namespace: string
  name: string
  generation: number
  enabled: boolean
  type: 'Confidential' | 'Public'
  /** The Secret, and its version, that the hash was made from. */
  secretSource: string | null
  secretSalt: Buffer | null
  secretHash: Buffer | null
  previousSecretSalt: Buffer | null
  previousSecretHash: Buffer | null
  previousValidUntil: Date | null
  settings: ClientSettings
}

export type SecretColumn =
  | 'secretSalt'
  | 'secretHash'
  | 'previousSecretSalt'
  | 'previousSecretHash'
  | 'previousValidUntil'

/** A row without the members that come from a Secret. */
export type ClientWithoutSecret = Omit<ClientRow, SecretColumn>

const COLUMNS = columnsOf<ClientRow>({
  realm: 'realm',
  clientId: 'client_id',
  resourceUid: 'resource_uid',
  namespace: 'namespace',
  name: 'name',
  generation: 'generation::integer',
  enabled: 'enabled',
  type: 'type',
  secretSource: 'secret_source',
  secretSalt: 'secret_salt',
  secretHash: 'secret_hash',
  previousSecretSalt: 'previous_secret_salt',
  previousSecretHash: 'previous_secret_hash',
  previousValidUntil: 'previous_valid_until',
  settings: 'settings',
})

export async function findClient(db: Db, realm: string, clientId: string): Promise<ClientRow | undefined> {
  const { rows } = await db.query<ClientRow>(
    `select ${COLUMNS.selected} from clients where realm = $1 and client_id = $2`,
    [realm, clientId],
  )
  return rows[0]
}

export async function findClientByUid(db: Db, resourceUid: string): Promise<ClientRow | undefined> {
  const { rows } = await db.query<ClientRow>(`select ${COLUMNS.selected} from clients where resource_uid = $1`, [
    resourceUid,
  ])
  return rows[0]
}

export async function listClients(db: Db): Promise<ClientRow[]> {
  const { rows } = await db.query<ClientRow>(`select ${COLUMNS.selected} from clients order by realm, client_id`)
  return rows
}

export async function listClientsOf(db: Db, realm: string): Promise<ClientRow[]> {
  const { rows } = await db.query<ClientRow>(`select ${COLUMNS.selected} from clients where realm = $1`, [realm])
  return rows
}

/** False when another resource holds this client id in this realm; nothing is written then. */
export async function upsertClient(db: Db, row: ClientRow): Promise<boolean> {
  const { rowCount } = await db
    .query(
      `${COLUMNS.insertInto('clients')}
       on conflict on constraint clients_pkey do update set ${COLUMNS.replacedExcept('realm', 'clientId', 'resourceUid')}
        where clients.resource_uid = excluded.resource_uid`,
      COLUMNS.values(row),
    )
    .catch((error: unknown) => {
      // The same resource under another realm or client id: both are immutable, so an older row has the same uid.
      if (isUniqueViolation(error, 'clients_resource_uid')) return { rowCount: 0 }
      throw error
    })
  return rowCount === 1
}

/** Returns the deleted row, so that the caller can end its sessions. */
export async function deleteClient(
  db: Db,
  resourceUid: string,
): Promise<{ realm: string; clientId: string } | undefined> {
  const { rows } = await db.query<{ realm: string; clientId: string }>(
    `delete from clients where resource_uid = $1 returning realm, client_id as "clientId"`,
    [resourceUid],
  )
  return rows[0]
}

/** The stored form of a client secret. Secrets are long and random, so one salted SHA-256 is enough. */
export interface SecretHash {
  salt: Buffer
  hash: Buffer
}

/** SHA-256 over the salt and the secret's UTF-8 bytes. */
export function hashClientSecret(secret: string, salt: Buffer = randomBytes(16)): SecretHash {
  return { salt, hash: hash('sha256', Buffer.concat([salt, Buffer.from(secret, 'utf8')]), 'buffer') }
}

/** Compares in constant time. */
export function isClientSecret(secret: string, stored: SecretHash): boolean {
  const { hash: presented } = hashClientSecret(secret, stored.salt)
  return presented.length === stored.hash.length && timingSafeEqual(presented, stored.hash)
}
