import { decodeBase64url } from '../../keyring/base64url.ts'
import { MAX_KEY_VERSION } from '../../keyring/keyring.ts'

// docs/ciphertext.md: rk1:<version>:<base64url( flags 1 | salt 24 | commitment 20 | ciphertext | tag 16 )>

const PREFIX = 'rk1:'
export const SALT_BYTES = 24
export const COMMITMENT_BYTES = 20
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

/** Undefined for every text but the one canonical form: exact prefix, plain decimal version, canonical base64url, known flags. */
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
