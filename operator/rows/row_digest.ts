import { hash } from 'node:crypto'
import type { ClientRow, ClientWithoutSecret } from '../../store/clients.ts'
import type { RealmRow } from '../../store/realms.ts'
import type { UserRow } from '../../store/users.ts'
import { hashParameters } from '../../store/stored_hash.ts'

// A digest says whether a row is what it should be without keeping the row. What no resource says, salts and hashes,
// is not in it but for its presence.

export function realmDigest(row: RealmRow): string {
  return digest(row)
}

/** Of a secret, which state of which Secret it was made from. */
export function clientDigest(row: ClientWithoutSecret): string {
  return digest({ ...row, ...WITHOUT_SECRET })
}

const WITHOUT_SECRET = {
  secretSalt: undefined,
  secretHash: undefined,
  previousSecretSalt: undefined,
  previousSecretHash: undefined,
  previousValidUntil: undefined,
}

/** The secrets of a client's row, which nobody but the operator writes: other bytes are drift. */
export function clientSecretDigest(row: ClientRow): string {
  const bytes = [row.secretSalt, row.secretHash, row.previousSecretSalt, row.previousSecretHash]
  return digest([...bytes.map((each) => each?.toString('base64url') ?? null), row.previousValidUntil])
}

/** Of a password hash only whether it can be used: a server may replace one by another of the same password. */
export type PasswordState = 'none' | 'usable' | 'unusable'

export function userDigest(row: Omit<UserRow, 'passwordHash'>, password: PasswordState): string {
  return digest({ ...row, passwordHash: password })
}

export function passwordState(passwordHash: string | null): PasswordState {
  if (passwordHash === null) return 'none'
  return hashParameters(passwordHash) === undefined ? 'unusable' : 'usable'
}

/** Tells two hashes apart without keeping them. */
export function hashDigest({ passwordHash }: Pick<UserRow, 'passwordHash'>): string {
  return digest(passwordHash)
}

function digest(value: unknown): string {
  return hash('sha256', JSON.stringify(canonical(value)), 'base64url').slice(0, 22)
}

/** jsonb has an order of members of its own, and no undefined ones. */
function canonical(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  if (Array.isArray(value)) return value.map(canonical)
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(
    members.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, member]) => [name, canonical(member)]),
  )
}
