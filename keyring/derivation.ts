import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'

/**
 * Identifies the bytes of a key without revealing them: HMAC-SHA256(key, "rk.fp.v1")[0:8] in hex, 16 characters.
 * It may be shown, stored and logged.
 */
export function fingerprint(key: KeyObject | Uint8Array): string {
  return createHmac('sha256', key).update('rk.fp.v1').digest('hex').slice(0, 16)
}

// SP 800-108 in counter mode, one block: HMAC-SHA512(key, counter 1 | label | 0x00 | context | output length in bits).

const COUNTER = Buffer.from([0, 0, 0, 1])
const SEPARATOR = Buffer.from([0])
const FIELD_LABEL = Buffer.from('rk.field.v1')
const FIELD_KEY_BITS = Buffer.from([0, 0, 1, 0])

/** `lp(s)` of the format: a 2-byte big-endian length, then the UTF-8 bytes. @throws RangeError over 65535 bytes */
function lengthPrefixed(text: string): Buffer {
  const bytes = Buffer.byteLength(text, 'utf8')
  if (bytes > 0xffff) throw new RangeError('a text of a ciphertext context is longer than 65535 bytes')
  const prefixed = Buffer.allocUnsafe(2 + bytes)
  prefixed.writeUInt16BE(bytes, 0)
  prefixed.write(text, 2, 'utf8')
  return prefixed
}

/** K_field of docs/ciphertext.md: the key of one field under one version, separate from every other field's. */
export function deriveFieldKey(versionKey: KeyObject, realm: string, field: string, tag: string): KeyObject {
  const block = createHmac('sha512', versionKey)
    .update(COUNTER)
    .update(FIELD_LABEL)
    .update(SEPARATOR)
    .update(lengthPrefixed(realm))
    .update(lengthPrefixed(field))
    .update(lengthPrefixed(tag))
    .update(FIELD_KEY_BITS)
    .digest()
  const key = createSecretKey(block.subarray(0, 32))
  block.fill(0)
  return key
}
