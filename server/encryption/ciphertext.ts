import { createHmac, createSecretKey } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { decodeBase64url } from '../../keyring/strict_parsing.ts'
import { MAX_KEY_VERSION } from '../../keyring/keyring.ts'

// docs/ciphertext.md: rk1:<version>:<base64url( flags 1 | salt 24 | commitment 20 | ciphertext | tag 16 )>

const PREFIX = 'rk1:'
export const SALT_BYTES = 24
const COMMITMENT_BYTES = 20
export const TAG_BYTES = 16
const HEAD_BYTES = 1 + SALT_BYTES + COMMITMENT_BYTES
const OVERHEAD_BYTES = HEAD_BYTES + TAG_BYTES

/** The largest value of any field. */
export const MAX_VALUE_BYTES = 65_536
const MAX_TEXT_LENGTH = PREFIX.length + 10 + 1 + Math.ceil(((MAX_VALUE_BYTES + OVERHEAD_BYTES) * 4) / 3)

/** Bits of the flags byte; all others are 0. */
export const FLAG_SUBJECT_BOUND = 1
export const FLAG_GIVEN_AS_BYTES = 2
const KNOWN_FLAGS = FLAG_SUBJECT_BOUND | FLAG_GIVEN_AS_BYTES

/** The parts of a ciphertext. Nothing in them is authentic yet. */
export interface Ciphertext {
  version: number
  flags: number
  salt: Uint8Array
  commitment: Uint8Array
  encrypted: Uint8Array
  tag: Uint8Array
}

const VERSION = /^[1-9][0-9]{0,9}$/

/** Undefined unless the text is in the one canonical form: exact prefix, plain decimal version, canonical base64url, known flags. */
export function parseCiphertext(text: string): Ciphertext | undefined {
  if (text.length > MAX_TEXT_LENGTH || !text.startsWith(PREFIX)) return undefined
  const colon = text.indexOf(':', PREFIX.length)
  const digits = text.slice(PREFIX.length, Math.max(colon, PREFIX.length))
  if (!VERSION.test(digits)) return undefined
  const version = Number(digits)
  if (version > MAX_KEY_VERSION) return undefined

  const body = decodeBase64url(text.slice(colon + 1))
  if (!body || body.length < OVERHEAD_BYTES) return undefined
  const flags = body.readUInt8(0)
  if ((flags & ~KNOWN_FLAGS) !== 0) return undefined
  return {
    version,
    flags,
    salt: body.subarray(1, 1 + SALT_BYTES),
    commitment: body.subarray(1 + SALT_BYTES, HEAD_BYTES),
    encrypted: body.subarray(HEAD_BYTES, body.length - TAG_BYTES),
    tag: body.subarray(body.length - TAG_BYTES),
  }
}

/** The text of a ciphertext. */
export function formatCiphertext({ version, flags, salt, commitment, encrypted, tag }: Ciphertext): string {
  const body = Buffer.allocUnsafe(OVERHEAD_BYTES + encrypted.length)
  body.writeUInt8(flags, 0)
  body.set(salt, 1)
  body.set(commitment, 1 + SALT_BYTES)
  body.set(encrypted, HEAD_BYTES)
  body.set(tag, HEAD_BYTES + encrypted.length)
  return `${PREFIX}${version}:${body.toString('base64url')}`
}

/** What a value is bound to; `sub` only when the flags have the subject bit. */
interface ValueContext {
  realm: string
  field: string
  tag: string
  version: number
  flags: number
  sub: string
}

/** The keys of one value; `aad` is `ctx` of docs/ciphertext.md. */
export interface ValueKey {
  key: KeyObject
  nonce: Buffer
  commitment: Buffer
  aad: Buffer
}

const DERIVATION_HEAD = Buffer.from('\u0000\u0000\u0000\u0001rk.value.v1\u0000', 'latin1')
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
  const input = Buffer.allocUnsafe(DERIVATION_HEAD.length + aadLength + SALT_BYTES + 4)

  input.set(DERIVATION_HEAD, 0)
  let at = writePrefixed(input, realm, DERIVATION_HEAD.length)
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
    aad: input.subarray(DERIVATION_HEAD.length, DERIVATION_HEAD.length + aadLength),
  }
}

function prefixedLength(text: string): number {
  return 2 + Buffer.byteLength(text, 'utf8')
}

/** @throws RangeError, by writeUInt16BE, for a text over 65535 bytes */
function writePrefixed(into: Buffer, text: string, at: number): number {
  const written = into.write(text, at + 2, 'utf8')
  into.writeUInt16BE(written, at)
  return at + 2 + written
}
