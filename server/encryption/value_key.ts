import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { COMMITMENT_BYTES, FLAG_SUBJECT_BOUND, SALT_BYTES } from './ciphertext.ts'

/** What a value is bound to. `sub` enters only when the flags say subject-bound. */
export interface ValueContext {
  realm: string
  field: string
  tag: string
  version: number
  flags: number
  sub: string
}

/** What one value is sealed with; `aad` is `ctx` of docs/ciphertext.md. */
export interface ValueKey {
  key: KeyObject
  nonce: Buffer
  commitment: Buffer
  aad: Buffer
}

const HEAD = Buffer.from('\u0000\u0000\u0000\u0001rk.value.v1\u0000', 'latin1')
const KEY_BYTES = 32
const NONCE_BYTES = 12
const OUTPUT_BITS = 512

/**
 * OKM of docs/ciphertext.md, cut into key, nonce and commitment. One buffer, one HMAC call: each further call costs as
 * much as the hashing. @throws RangeError when a text of the context is over 65535 bytes
 */
export function deriveValueKey(fieldKey: KeyObject, context: ValueContext, salt: Uint8Array): ValueKey {
  const { realm, field, tag, version, flags } = context
  const sub = (flags & FLAG_SUBJECT_BOUND) === 0 ? undefined : context.sub
  const texts = prefixedLength(realm) + prefixedLength(field) + prefixedLength(tag)
  const aadLength = texts + 5 + (sub === undefined ? 0 : prefixedLength(sub))
  const input = Buffer.allocUnsafe(HEAD.length + aadLength + SALT_BYTES + 4)

  input.set(HEAD, 0)
  let at = writePrefixed(input, realm, HEAD.length)
  at = writePrefixed(input, field, at)
  at = writePrefixed(input, tag, at)
  at = input.writeUInt32BE(version, at)
  at = input.writeUInt8(flags, at)
  if (sub !== undefined) at = writePrefixed(input, sub, at)
  input.set(salt, at)
  input.writeUInt32BE(OUTPUT_BITS, at + SALT_BYTES)

  const okm = createHmac('sha512', fieldKey).update(input).digest()
  // A KeyObject even for one use: createCipheriv takes several times longer with raw bytes.
  const key = createSecretKey(okm.subarray(0, KEY_BYTES))
  okm.fill(0, 0, KEY_BYTES)
  return {
    key,
    nonce: okm.subarray(KEY_BYTES, KEY_BYTES + NONCE_BYTES),
    commitment: okm.subarray(KEY_BYTES + NONCE_BYTES, KEY_BYTES + NONCE_BYTES + COMMITMENT_BYTES),
    aad: input.subarray(HEAD.length, HEAD.length + aadLength),
  }
}

function prefixedLength(text: string): number {
  return 2 + Buffer.byteLength(text, 'utf8')
}

/** writeUInt16BE is what refuses a text that is too long. */
function writePrefixed(into: Buffer, text: string, at: number): number {
  const written = into.write(text, at + 2, 'utf8')
  into.writeUInt16BE(written, at)
  return at + 2 + written
}
