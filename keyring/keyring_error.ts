/**
 * A keyring cannot be used as it is. The message says which part and what to do; it quotes nothing of the content and
 * carries no cause, because both may hold key material.
 */
export class KeyringError extends Error {
  override readonly name = 'KeyringError'
}
