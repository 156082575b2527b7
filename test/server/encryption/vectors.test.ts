import { createSecretKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { vectorsText } from '../../../scripts/vectors.ts'
import { decryptValue, encryptValue, type CipherContext } from '../../../server/encryption/cipher.ts'
import { deriveValueKey, parseCiphertext } from '../../../server/encryption/ciphertext.ts'
import { deriveFieldKey, fingerprint } from '../../../keyring/derivation.ts'
import { emptyKeyring, type EncryptionKey } from '../../../keyring/keyring.ts'
import { loadKeyring } from '../../../keyring/loaded_keyring.ts'
import { START } from '../../keyring/sample_keyring.ts'

interface Vector {
  name: string
  key: string
  realm: string
  field: string
  tag: string
  version: number
  flags: number
  sub?: string
  salt: string
  valueBase64: string
  ctx: string
  fieldKey: string
  encryptionKey: string
  nonce: string
  commitment: string
  ciphertext: string
}

interface Vectors {
  fingerprints: { key: string; fingerprint: string }[]
  vectors: Vector[]
}

const text = readFileSync(new URL('../../vectors/rk1.json', import.meta.url), 'utf8')
const { fingerprints, vectors }: Vectors = JSON.parse(text)

/** A keyring in which the vector's key is primary, and the context of its field. */
async function given(vector: Vector, change: Partial<Vector> = {}) {
  const { key, realm, field, tag, version, flags, sub = 'unused' } = { ...vector, ...change }
  const bytes = Buffer.from(key, 'hex')
  const encryption: EncryptionKey = {
    version,
    fingerprint: fingerprint(bytes),
    state: 'primary',
    key: bytes.toString('base64url'),
    createdAt: START.toISOString(),
  }
  const keyring = await loadKeyring({ ...emptyKeyring(realm, { namespace: 'a', name: 'b' }), encryption: [encryption] })
  const context: CipherContext = { field, tag, binding: flags & 1 ? 'Subject' : 'Realm', sub }
  return { keyring, context }
}

/** The value in the form in which it was given. */
function valueOf({ valueBase64, flags }: Vector): string | Buffer {
  const bytes = Buffer.from(valueBase64, 'base64')
  return flags & 2 ? bytes : bytes.toString('utf8')
}

test('the generator makes the file that is checked in, byte for byte', () => {
  expect(vectorsText()).toBe(text)
})

test.each(fingerprints)('the fingerprint of $key', ({ key, fingerprint: expected }) => {
  expect(fingerprint(Buffer.from(key, 'hex'))).toBe(expected)
})

describe.each(vectors)('$name', async (vector) => {
  const { keyring, context } = await given(vector)
  const failed = { ok: false, error: 'decryption_failed' }

  test('is encrypted to exactly this text', () => {
    expect(encryptValue(keyring, context, valueOf(vector), Buffer.from(vector.salt, 'hex'))).toEqual({
      ok: true,
      ciphertext: vector.ciphertext,
      keyVersion: vector.version,
    })
  })

  test('is decrypted to exactly this value', () => {
    expect(decryptValue(keyring, context, vector.ciphertext)).toEqual({
      ok: true,
      value: valueOf(vector),
      keyVersion: vector.version,
      stale: false,
    })
  })

  test('gives the intermediate values of the file', () => {
    const fieldKey = deriveFieldKey(
      createSecretKey(Buffer.from(vector.key, 'hex')),
      vector.realm,
      vector.field,
      vector.tag,
    )
    const made = deriveValueKey(fieldKey, { ...vector, sub: vector.sub ?? '' }, Buffer.from(vector.salt, 'hex'))
    expect({
      ctx: made.aad.toString('hex'),
      fieldKey: fieldKey.export().toString('hex'),
      encryptionKey: made.key.export().toString('hex'),
      nonce: made.nonce.toString('hex'),
      commitment: made.commitment.toString('hex'),
    }).toEqual({
      ctx: vector.ctx,
      fieldKey: vector.fieldKey,
      encryptionKey: vector.encryptionKey,
      nonce: vector.nonce,
      commitment: vector.commitment,
    })
  })

  const [prefix, version, body] = vector.ciphertext.split(':')
  const bytes = Buffer.from(String(body), 'base64url')
  const textOf = (changed: Buffer) => `${prefix}:${version}:${changed.toString('base64url')}`

  test('row 62: with any bit changed it is never a value', () => {
    // Every bit of what has a meaning of its own and of a short value; one bit of each byte of a long one.
    const bits = bytes.length > 500 ? [0] : [0, 1, 2, 3, 4, 5, 6, 7]
    for (let at = 0; at < bytes.length; at++) {
      for (const bit of bits) {
        const changed = Buffer.from(bytes)
        changed.writeUInt8(changed.readUInt8(at) ^ (1 << bit), at)
        // Unknown flags do not parse; everything else does, and fails in one way.
        const expected = at === 0 && bit > 1 ? { ok: false, error: 'invalid_ciphertext' } : failed
        expect(decryptValue(keyring, context, textOf(changed)), `byte ${at} bit ${bit}`).toEqual(expected)
      }
    }
  })

  test('row 62: with any character changed it is never a value', () => {
    const step = vector.ciphertext.length > 500 ? 7 : 1
    for (let at = 0; at < vector.ciphertext.length; at += step) {
      for (const other of ['A', '0', ':', '=', '/', 'é']) {
        if (vector.ciphertext[at] === other) continue
        const changed = vector.ciphertext.slice(0, at) + other + vector.ciphertext.slice(at + 1)
        expect(decryptValue(keyring, context, changed).ok, `${at} ${other}`).toBe(false)
      }
    }
  })

  test('row 62: cut at either end it is never a value', () => {
    const step = bytes.length > 500 ? 97 : 1
    for (let cut = 1; cut < bytes.length; cut += step) {
      const expected = bytes.length - cut < 61 ? { ok: false, error: 'invalid_ciphertext' } : failed
      expect(decryptValue(keyring, context, textOf(bytes.subarray(0, -cut)))).toEqual(expected)
    }
    // A tag of 4 bytes: the last 16 bytes are read as the tag, never fewer.
    expect(decryptValue(keyring, context, textOf(bytes.subarray(0, -12))).ok).toBe(false)
    for (let length = 0; length < Math.min(vector.ciphertext.length, 200); length++) {
      expect(decryptValue(keyring, context, vector.ciphertext.slice(0, length)).ok).toBe(false)
      expect(decryptValue(keyring, context, vector.ciphertext.slice(length + 1)).ok).toBe(false)
    }
    expect(decryptValue(keyring, context, textOf(Buffer.concat([bytes, Buffer.alloc(1)])))).toEqual(failed)
  })

  const elsewhere: [string, Partial<Vector>][] = [
    ['another realm', { realm: 'other' }],
    ['another field', { field: 'other' }],
    ['another tag', { tag: 'other' }],
    ['other key bytes', { key: 'aa'.repeat(32) }],
    ['another binding', { flags: vector.flags ^ 1 }],
    // Length prefixes keep apart what would be one text when put together.
    [
      'a character moved between field and tag',
      { field: vector.field.slice(0, -1), tag: vector.field.slice(-1) + vector.tag },
    ],
    [
      'a character moved between realm and field',
      { realm: vector.realm + vector.field.slice(0, 1), field: vector.field.slice(1) },
    ],
  ]
  test.each(elsewhere)('row 62: in %s it fails', async (_, change) => {
    const other = await given(vector, change)
    expect(decryptValue(other.keyring, other.context, vector.ciphertext)).toEqual(failed)
  })

  test('row 62: under another version it fails, although the key bytes are the same', async () => {
    for (const other of [1, 2, 2 ** 31 - 1].filter((each) => each !== vector.version)) {
      const { keyring: otherRing } = await given(vector, { version: other })
      expect(decryptValue(otherRing, context, `rk1:${other}:${body}`)).toEqual(failed)
    }
  })

  test('row 62: another subject matters exactly when it is bound to one', () => {
    for (const sub of ['mallory', '', `${vector.sub ?? ''} `]) {
      const result = decryptValue(keyring, { ...context, sub }, vector.ciphertext)
      expect(result.ok).toBe((vector.flags & 1) === 0)
      if (!result.ok) expect(result).toEqual(failed)
    }
  })

  test('only its one canonical text parses', () => {
    expect(parseCiphertext(vector.ciphertext)).toBeDefined()
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const sameBytes = alphabet
      .split('')
      .map((last) => vector.ciphertext.slice(0, -1) + last)
      .filter((each) => each !== vector.ciphertext && Buffer.from(each.split(':')[2] ?? '', 'base64url').equals(bytes))
    // Left-over bits exist unless the length is a multiple of three.
    expect(sameBytes.length).toBe([0, 15, 3][bytes.length % 3])
    for (const each of sameBytes) expect(parseCiphertext(each), each).toBeUndefined()

    // The alphabet of base64, where it makes a difference.
    const standard = `rk1:${version}:${bytes.toString('base64')}`.replace(vector.ciphertext, '')
    const withBlank = `${vector.ciphertext.slice(0, 40)}\n${vector.ciphertext.slice(40)}`
    for (const each of [
      `${vector.ciphertext}=`,
      `${vector.ciphertext}==`,
      ` ${vector.ciphertext}`,
      `${vector.ciphertext}\n`,
      withBlank,
      standard,
    ]) {
      expect(parseCiphertext(each), each).toBeUndefined()
    }
  })

  test.each([
    '01',
    '+1',
    '-1',
    '2147483648',
    '99999999999',
    '1e3',
    '1.0',
    '',
    ' 1',
    '1 ',
    '0',
    '0x1',
    '١',
    '1:1',
    '../1',
    '__proto__',
  ])('row 61: the version %j is no version', (digits) => {
    expect(decryptValue(keyring, context, `rk1:${digits}:${body}`)).toEqual({ ok: false, error: 'invalid_ciphertext' })
  })
})
