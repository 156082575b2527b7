import { digestOf } from '../../process/canonical_json.ts'
import type { ClientRow, ClientWithoutSecret } from '../../store/clients.ts'
import type { RealmRow } from '../../store/realms.ts'
import type { UserRow } from '../../store/users.ts'
import { hashParameters } from '../../store/password_hash.ts'

// A digest tells whether a row is as desired without keeping the row in memory. Salts and hashes, which follow from no
// resource, are left out.

export function realmDigest(row: RealmRow): string {
  return digest(row)
}

/** Covers `secretSource`, the state of the Secret that the client secret was read from. */
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

/** The secret columns of a client's row. Only the operator writes them, so other bytes are drift. */
export function clientSecretDigest(row: ClientRow): string {
  const bytes = [row.secretSalt, row.secretHash, row.previousSecretSalt, row.previousSecretHash]
  return digest([...bytes.map((each) => each?.toString('base64url') ?? null), row.previousValidUntil])
}

/** All that a digest covers of a password hash: servers replace a hash by another one of the same password. */
export type PasswordState = 'none' | 'usable' | 'unusable'

export function userDigest(row: Omit<UserRow, 'passwordHash'>, password: PasswordState): string {
  return digest({ ...row, passwordHash: password })
}

export function passwordState(passwordHash: string | null): PasswordState {
  if (passwordHash === null) return 'none'
  return hashParameters(passwordHash) === undefined ? 'unusable' : 'usable'
}

/** Distinguishes two hashes without keeping them in memory. */
export function hashDigest({ passwordHash }: Pick<UserRow, 'passwordHash'>): string {
  return digest(passwordHash)
}

/** Half of a SHA-256 suffices to find differences, and there is one for each row. */
function digest(value: unknown): string {
  return digestOf(value).slice(0, 32)
}
