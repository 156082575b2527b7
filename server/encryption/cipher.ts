import { createCipheriv, createDecipheriv, randomFillSync, timingSafeEqual } from 'node:crypto'
import type { FieldPair } from '../../keyring/keyring.ts'
import type { LoadedKeyring } from '../../keyring/loaded_keyring.ts'
import {
  deriveValueKey,
  FLAG_GIVEN_AS_BYTES,
  FLAG_SUBJECT_BOUND,
  formatCiphertext,
  MAX_VALUE_BYTES,
  parseCiphertext,
  SALT_BYTES,
  TAG_BYTES,
  type Ciphertext,
  type ValueKey,
} from './ciphertext.ts'

/** The field of a request as the realm defines it, and the `sub` of the caller's verified token. */
export interface CipherContext extends FieldPair {
  sub: string
}

export type Encrypted =
  | { ok: true; ciphertext: string; keyVersion: number }
  /** The keyring has no primary key. */
  | { ok: false; error: 'keyring_unavailable' }

/** `value` is a string or bytes, in the form in which it was given. `stale`: the version is not the primary one. */
export type Decrypted =
  | { ok: true; value: string | Buffer; keyVersion: number; stale: boolean }
  | { ok: false; error: DecryptError }

export type DecryptError =
  | 'invalid_ciphertext'
  | 'decryption_failed'
  | 'key_version_unknown'
  | 'key_disabled'
  | 'key_destroyed'

const ALGORITHM = 'aes-256-gcm'
const OPTIONS = { authTagLength: TAG_BYTES } as const

/**
 * Encrypts one value under the primary key. A flag distinguishes text from bytes, so that decrypt answers in the form
 * that was given. The salt is for test vectors; never let a caller choose it.
 * @throws TypeError for text with a lone surrogate (it would come back changed) and a salt of another length
 * @throws RangeError for a value over 65536 bytes
 */
export function encryptValue(
  keyring: LoadedKeyring,
  { field, tag, binding, sub }: CipherContext,
  value: string | Uint8Array,
  salt: Uint8Array = nextSalt(),
): Encrypted {
  const version = keyring.primaryVersion
  const fieldKey = version === undefined ? undefined : keyring.fieldKey(field, tag, version)
  if (version === undefined || !fieldKey) return { ok: false, error: 'keyring_unavailable' }
  if (typeof value === 'string' && !value.isWellFormed()) throw new TypeError('a value has a lone surrogate')
  if (salt.length !== SALT_BYTES) throw new TypeError(`a salt is ${SALT_BYTES} bytes`)
  const length = typeof value === 'string' ? Buffer.byteLength(value, 'utf8') : value.length
  if (length > MAX_VALUE_BYTES) throw new RangeError(`a value is at most ${MAX_VALUE_BYTES} bytes`)

  const flags = (binding === 'Subject' ? FLAG_SUBJECT_BOUND : 0) | (typeof value === 'string' ? 0 : FLAG_GIVEN_AS_BYTES)
  const { key, nonce, commitment, aad } = deriveValueKey(
    fieldKey,
    { realm: keyring.realm, field, tag, version, flags, sub },
    salt,
  )
  const cipher = createCipheriv(ALGORITHM, key, nonce, OPTIONS).setAAD(aad)
  const encrypted = typeof value === 'string' ? cipher.update(value, 'utf8') : cipher.update(value)
  cipher.final()
  const ciphertext = formatCiphertext({ version, flags, salt, commitment, encrypted, tag: cipher.getAuthTag() })
  return { ok: true, ciphertext, keyVersion: version }
}

/**
 * Decrypts one value. The version in the text only selects among the keys of this keyring; realm, field, tag and
 * binding come from the request, `sub` from the token, so a text from elsewhere never opens.
 */
export function decryptValue(
  keyring: LoadedKeyring,
  { field, tag, binding, sub }: CipherContext,
  text: string,
): Decrypted {
  const parsed = parseCiphertext(text)
  if (!parsed) return { ok: false, error: 'invalid_ciphertext' }
  const { version, flags } = parsed

  const state = keyring.encryptionState(version)
  if (state === undefined) return { ok: false, error: 'key_version_unknown' }
  if (state === 'disabled') return { ok: false, error: 'key_disabled' }
  const fieldKey = keyring.fieldKey(field, tag, version)
  if (state === 'destroyed' || !fieldKey) return { ok: false, error: 'key_destroyed' }

  const valueKey = deriveValueKey(fieldKey, { realm: keyring.realm, field, tag, version, flags, sub }, parsed.salt)
  // A text that drops the subject flag has another key anyway; a field's binding is fixed, so this is known beforehand.
  const isBoundAsField = ((flags & FLAG_SUBJECT_BOUND) !== 0) === (binding === 'Subject')
  const isCommitted = timingSafeEqual(valueKey.commitment, parsed.commitment) && isBoundAsField
  const opened = open(valueKey, parsed, isCommitted)
  if (!opened) return { ok: false, error: 'decryption_failed' }

  const value = (flags & FLAG_GIVEN_AS_BYTES) === 0 ? opened.toString('utf8') : opened
  return { ok: true, value, keyVersion: version, stale: version !== keyring.primaryVersion }
}

/**
 * Every refusal takes the same time, so that a caller cannot tell a wrong subject from a changed byte: GCM runs to its
 * end also after a failed commitment, against a tag that cannot match. A matching tag would save the exception, which
 * costs more than the decryption.
 */
function open({ key, nonce, commitment, aad }: ValueKey, { encrypted, tag }: Ciphertext, isCommitted: boolean) {
  const expectedTag = isCommitted ? tag : commitment.subarray(0, TAG_BYTES)
  const decipher = createDecipheriv(ALGORITHM, key, nonce, OPTIONS).setAAD(aad).setAuthTag(expectedTag)
  const value = decipher.update(encrypted)
  try {
    decipher.final()
    if (isCommitted) return value
  } catch {
    // Falls through: the value is not authentic.
  }
  value.fill(0)
  return undefined
}

const SALTS_IN_POOL = 128
const pool = Buffer.alloc(SALTS_IN_POOL * SALT_BYTES)
let next = pool.length

/** 24 random bytes, drawn in batches: one call each costs more than the derivation. A view, valid until the next call. */
function nextSalt(): Uint8Array {
  if (next === pool.length) {
    randomFillSync(pool)
    next = 0
  }
  next += SALT_BYTES
  return pool.subarray(next - SALT_BYTES, next)
}
