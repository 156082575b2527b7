/**
 * Writes test/vectors/rk1.json as docs/ciphertext.md specifies it. It shares no code with the product, so that a test
 * compares two independent implementations of that page.
 *
 *   node scripts/vectors.ts          prints the file
 *   node scripts/vectors.ts --check  compares it with the tracked one; exit code 1 when they differ
 */
import { createCipheriv, createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'

interface Input {
  name: string
  key: string
  realm: string
  field: string
  tag: string
  version: number
  flags: number
  sub?: string
  salt: string
  value: Uint8Array
}

const KEY_A = '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f'
const KEY_B = '6465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f80818283'

const DATE_OF_BIRTH = { key: KEY_A, realm: 'quickstart', field: 'dateOfBirth', tag: 'dob', version: 1, flags: 0 }

const INPUTS: Input[] = [
  {
    name: 'a date',
    ...DATE_OF_BIRTH,
    salt: '3e3e69e7e7f00363a02a8dd163408e088ab195d25ab429ab',
    value: text('1990-01-31'),
  },
  {
    name: 'the empty string',
    ...DATE_OF_BIRTH,
    salt: 'e6a11e887c8f5220b6e201649d86d35ca37f80f505c3c09f',
    value: text(''),
  },
  {
    name: 'any Unicode text, U+0000 included',
    key: KEY_A,
    realm: 'quickstart',
    field: 'note',
    tag: 'note',
    version: 7,
    flags: 0,
    salt: 'c4a7b088777927de75cb211474801cfe1ed79f83ccdba6a5',
    value: text('žluťoučký \u0000 🐎'),
  },
  {
    name: 'bytes',
    key: KEY_B,
    realm: 'acme',
    field: 'scan',
    tag: 'scan',
    version: 2147483647,
    flags: 2,
    salt: '5ed027871504e5287b1485dc7e674b747b82b7f95244520a',
    value: Uint8Array.from({ length: 256 }, (_, at) => at),
  },
  {
    name: 'subject-bound',
    key: KEY_B,
    realm: 'acme',
    field: 'ssn',
    tag: 'ssn',
    version: 12,
    flags: 1,
    sub: '6f9619ff-8b86-d011-b42d-00c04fc964ff',
    salt: 'f7cac992d7a2f77d1c0400370f7d1ebccda15e7f5fe22a36',
    value: text('078-05-1120'),
  },
  {
    name: 'subject-bound bytes, non-ASCII field name',
    key: KEY_B,
    realm: 'acme',
    field: 'größe',
    tag: 'groesse',
    version: 3,
    flags: 3,
    sub: 'alice',
    salt: 'b4f7a0360b7e098df293027b11f90b4689e44f0b61b56201',
    value: Uint8Array.of(0x00, 0xff),
  },
  {
    name: '4096 bytes',
    ...DATE_OF_BIRTH,
    salt: '0a36b07ec8e044aa9229474ad7019a1332050137acabc182',
    value: text('a'.repeat(4096)),
  },
]

/** The text of the file, without a final line end. */
export function vectorsText(): string {
  const fingerprints = [KEY_A, KEY_B].map((key) => ({
    key,
    fingerprint: createHmac('sha256', unhex(key)).update('rk.fp.v1').digest().subarray(0, 8).toString('hex'),
  }))
  return JSON.stringify({ format: 'rk1', fingerprints, vectors: INPUTS.map(vector) }, undefined, 1)
}

function vector({ value, ...input }: Input) {
  const names = Buffer.concat([lp(input.realm), lp(input.field), lp(input.tag)])
  const flags = Buffer.from([input.flags])
  const subject = input.flags & 1 ? lp(input.sub ?? '') : Buffer.alloc(0)
  const ctx = Buffer.concat([names, u32(input.version), flags, subject])
  const fieldKey = kdf(unhex(input.key), 'rk.field.v1', names, 256).subarray(0, 32)
  const okm = kdf(fieldKey, 'rk.value.v1', Buffer.concat([ctx, unhex(input.salt)]), 512)
  const [encryptionKey, nonce, commitment] = [okm.subarray(0, 32), okm.subarray(32, 44), okm.subarray(44, 64)]

  const gcm = createCipheriv('aes-256-gcm', encryptionKey, nonce)
  gcm.setAAD(ctx)
  const encrypted = Buffer.concat([gcm.update(value), gcm.final(), gcm.getAuthTag()])
  const body = Buffer.concat([flags, unhex(input.salt), commitment, encrypted])
  return {
    ...input,
    valueBase64: Buffer.from(value).toString('base64'),
    ctx: ctx.toString('hex'),
    fieldKey: fieldKey.toString('hex'),
    encryptionKey: encryptionKey.toString('hex'),
    nonce: nonce.toString('hex'),
    commitment: commitment.toString('hex'),
    ciphertext: `rk1:${input.version}:${body.toString('base64url')}`,
  }
}

/** SP 800-108, counter mode, one block of HMAC-SHA512. */
function kdf(key: Buffer, label: string, context: Buffer, bits: number): Buffer {
  const input = Buffer.concat([u32(1), Buffer.from(label), Buffer.from([0]), context, u32(bits)])
  return createHmac('sha512', key).update(input).digest()
}

function lp(words: string): Buffer {
  const bytes = Buffer.from(words, 'utf8')
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 0xff]), bytes])
}

function u32(number: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(number)
  return bytes
}

function text(words: string): Uint8Array {
  return new TextEncoder().encode(words)
}

function unhex(digits: string): Buffer {
  return Buffer.from(digits, 'hex')
}

if (import.meta.main) {
  const expected = vectorsText()
  if (process.argv.includes('--check')) {
    const isSame = readFileSync(new URL('../test/vectors/rk1.json', import.meta.url), 'utf8') === expected
    console.log(isSame ? 'test/vectors/rk1.json is up to date' : 'test/vectors/rk1.json differs')
    process.exitCode = isSame ? 0 : 1
  } else {
    process.stdout.write(expected)
  }
}
