import { fieldRole } from '../../store/realms.ts'
import type { EncryptionField, EncryptionPreconditions, FieldUse } from '../../store/realms.ts'
import { OAuthError } from '../http/oauth_error.ts'
import type { ServedRealm } from '../realms/realms.ts'

/** What a permission depends on: the scope and the roles of the token, and the roles that its user holds now. */
export interface FieldCaller {
  scope: readonly string[]
  tokenRoles: readonly string[]
  rolesNow: readonly string[]
}

export type Permission =
  | { permitted: true; field: EncryptionField }
  /** `scope` only for callers who hold the roles: all others cannot tell an unknown field from a forbidden one. */
  | { permitted: false; scope?: string }

/** Whether the caller may use the field of this name; all `uses` are required. */
export function decidePermission(
  fields: readonly EncryptionField[],
  name: string,
  uses: readonly FieldUse[],
  caller: FieldCaller,
): Permission {
  const field = fields.find((each) => each.name === name)
  if (!field) return { permitted: false }
  const roles = uses.map((use) => fieldRole(field.tag, use))
  if (!roles.every((role) => caller.rolesNow.includes(role))) return { permitted: false }

  const inToken = roles.every((role) => caller.scope.includes(role) && caller.tokenRoles.includes(role))
  if (inToken && caller.scope.includes('openid')) return { permitted: true, field }
  return { permitted: false, scope: ['openid', ...roles].join(' ') }
}

/** @throws OAuthError 403 unless provider, license, governance and realm admin are all present at this moment */
export function requireEncryptionAvailable({ row }: ServedRealm, now: Date): void {
  if (!allMet(row.encryption, now)) throw unavailable()
}

/**
 * Stored values must stay readable when a license or a term ends: once the realm has a key, decrypting continues.
 * @throws OAuthError 403 while field encryption has never begun in this realm
 */
export function requireDecryptionAvailable(realm: ServedRealm, now: Date): void {
  if (!allMet(realm.row.encryption, now) && !hasBegun(realm)) throw unavailable()
}

/** The operator writes `missing`; the server compares the two dates, so that they take effect while the operator is down. */
export function allMet({ missing, licenseExpiresAt, realmAdminUntil }: EncryptionPreconditions, now: Date): boolean {
  return missing.length === 0 && isAhead(licenseExpiresAt, now) && isAhead(realmAdminUntil, now)
}

/** False for a text that is no date. */
function isAhead(until: string | undefined, now: Date): boolean {
  return until === undefined || Date.parse(until) > now.getTime()
}

/** The operator creates the first key when all preconditions are met for the first time; version 1 stays in the keyring. */
function hasBegun(realm: ServedRealm): boolean {
  const keyring = realm.keyring()
  return keyring.primaryVersion !== undefined || keyring.encryptionState(1) !== undefined
}

function unavailable(): OAuthError {
  return new OAuthError('field_encryption_unavailable', 'Field encryption is not available in this realm')
}
