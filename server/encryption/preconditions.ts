import type { EncryptionPreconditions } from '../../store/realms.ts'
import { OAuthError } from '../http/oauth_error.ts'
import type { ServedRealm } from '../realms/served_realm.ts'

/** @throws OAuthError 403 unless provider, license, governance and realm admin are all there at this moment */
export function requireEncryptionAvailable({ row }: ServedRealm, now: Date): void {
  if (!allMet(row.encryption, now)) throw unavailable()
}

/**
 * Stored values must not become unreadable because a date passed: once a key was made, decrypting goes on whatever
 * lapses.
 * @throws OAuthError 403 while field encryption has never begun in this realm
 */
export function requireDecryptionAvailable(realm: ServedRealm, now: Date): void {
  if (!allMet(realm.row.encryption, now) && !hasBegun(realm)) throw unavailable()
}

/** The operator says what it found; the two dates are compared here, so that they hold with the operator down. */
export function allMet({ missing, licenseExpiresAt, realmAdminUntil }: EncryptionPreconditions, now: Date): boolean {
  return missing.length === 0 && isAhead(licenseExpiresAt, now) && isAhead(realmAdminUntil, now)
}

/** A text that is no date is not ahead. */
function isAhead(until: string | undefined, now: Date): boolean {
  return until === undefined || Date.parse(until) > now.getTime()
}

/** The first key is made when everything is met for the first time; versions begin with 1 and are never forgotten. */
function hasBegun(realm: ServedRealm): boolean {
  const keyring = realm.keyring()
  return keyring.primaryVersion !== undefined || keyring.encryptionState(1) !== undefined
}

function unavailable(): OAuthError {
  return new OAuthError('field_encryption_unavailable', 'Field encryption is not available in this realm')
}
