import { OAuthError } from '../http/oauth_error.ts'
import type { DecryptError } from './cipher.ts'

const TEXTS: Readonly<Record<DecryptError, string>> = {
  invalid_ciphertext: 'The ciphertext is malformed',
  // One text for a changed byte, another field, another subject and another key.
  decryption_failed: 'The ciphertext cannot be decrypted',
  key_version_unknown: 'The key version of the ciphertext is not known in this realm',
  key_disabled: 'The key version of the ciphertext is disabled',
  key_destroyed: 'The key version of the ciphertext was destroyed',
}

export function refusedDecryption(error: DecryptError): OAuthError {
  return new OAuthError(error, TEXTS[error])
}

/** Whatever is loaded cannot encrypt. */
export function noPrimaryKey(): OAuthError {
  return new OAuthError('keyring_unavailable', 'The keys of the realm are not available yet')
}
