import { describe, expect, test } from 'vitest'
import { decryptValue, encryptValue, type CipherContext } from '../../../server/encryption/cipher.ts'
import { MAX_VALUE_BYTES, parseCiphertext } from '../../../server/encryption/ciphertext.ts'
import { emptyKeyring, type EncryptionKey, type EncryptionState } from '../../../keyring/keyring.ts'
import { loadKeyring } from '../../../keyring/loaded_keyring.ts'
import { encryptionKey } from '../../keyring/sample_keyring.ts'

const context: CipherContext = { field: 'dateOfBirth', tag: 'dob', binding: 'Realm', sub: 'alice' }

function ringOf(...encryption: EncryptionKey[]) {
  return loadKeyring({ ...emptyKeyring('quickstart', { namespace: 'a', name: 'b' }), encryption })
}

const ring = await ringOf(encryptionKey(1, 'primary'))

function sealed(value: string | Uint8Array, inContext = context, inRing = ring): string {
  const result = encryptValue(inRing, inContext, value)
  if (!result.ok) throw new Error(result.error)
  return result.ciphertext
}

const values: [string, string | Buffer][] = [
  ['an empty text', ''],
  ['U+0000', '\u0000'],
  ['text beyond the BMP', '𐍈 🐎 👩‍👩‍👧 '],
  ['text that is not normalised', 'e\u0301 \u00e9 \ufb01'],
  ['text that looks like a byte order mark', '\ufeffabc'],
  ['text that looks like a ciphertext', 'rk1:1:AAAA'],
  ['the largest text', 'ž'.repeat(MAX_VALUE_BYTES / 2)],
  ['no bytes', Buffer.alloc(0)],
  ['bytes that are no UTF-8', Buffer.from([0xff, 0xfe, 0x00, 0xc3])],
  ['the largest bytes', Buffer.alloc(MAX_VALUE_BYTES, 0xff)],
]

test.each(values)('row 59: %s comes back exactly, in the form that was given', (_, value) => {
  for (const binding of ['Realm', 'Subject'] as const) {
    const opened = decryptValue(ring, { ...context, binding }, sealed(value, { ...context, binding }))
    expect(opened).toEqual({ ok: true, value, keyVersion: 1, stale: false })
    if (opened.ok) expect(typeof opened.value).toBe(typeof value)
  }
})

test('row 59: a lone surrogate, and a value over the limit, are refused rather than changed', () => {
  for (const value of ['\ud800', 'a\udc00b', '\udc00\ud800']) expect(() => sealed(value)).toThrow(TypeError)
  expect(() => sealed('a'.repeat(MAX_VALUE_BYTES + 1))).toThrow(RangeError)
  expect(() => sealed('ž'.repeat(MAX_VALUE_BYTES / 2 + 1))).toThrow(RangeError)
  expect(() => sealed(Buffer.alloc(MAX_VALUE_BYTES + 1))).toThrow(RangeError)
})

test('a salt of another length is refused', () => {
  for (const length of [0, 23, 25])
    expect(() => encryptValue(ring, context, 'a', Buffer.alloc(length))).toThrow(TypeError)
})

describe('key versions', () => {
  const states: [EncryptionState, ReturnType<typeof decryptValue>][] = [
    ['pending', { ok: true, value: 'secret', keyVersion: 1, stale: true }],
    ['decrypt_only', { ok: true, value: 'secret', keyVersion: 1, stale: true }],
    ['primary', { ok: true, value: 'secret', keyVersion: 1, stale: false }],
    ['disabled', { ok: false, error: 'key_disabled' }],
    ['destroyed', { ok: false, error: 'key_destroyed' }],
  ]
  test.each(states)('row 61: a %s version answers so', async (state, expected) => {
    const text = sealed('secret')
    expect(decryptValue(await ringOf(encryptionKey(1, state)), context, text)).toEqual(expected)
  })

  test('row 61: a version that was never in the ring is unknown', async () => {
    expect(decryptValue(await ringOf(encryptionKey(2, 'primary')), context, sealed('a'))).toEqual({
      ok: false,
      error: 'key_version_unknown',
    })
    expect(decryptValue(await ringOf(), context, sealed('a'))).toEqual({ ok: false, error: 'key_version_unknown' })
  })

  test.each(['pending', 'decrypt_only', 'disabled', 'destroyed'] as const)(
    'row 65: a ring with a %s key only encrypts nothing',
    async (state) => {
      expect(encryptValue(await ringOf(encryptionKey(1, state)), context, 'a')).toEqual({
        ok: false,
        error: 'keyring_unavailable',
      })
      expect(encryptValue(await ringOf(), context, 'a')).toEqual({ ok: false, error: 'keyring_unavailable' })
    },
  )

  test('row 63: an old version decrypts and is stale; another format prefix is refused', async () => {
    const rotated = await ringOf(encryptionKey(1, 'decrypt_only'), encryptionKey(2, 'primary'))
    const text = sealed('old')
    expect(decryptValue(rotated, context, text)).toMatchObject({ ok: true, value: 'old', stale: true })
    expect(encryptValue(rotated, context, 'new')).toMatchObject({ ok: true, keyVersion: 2 })
    for (const prefix of ['rk0', 'rk2', 'RK1', 'rk', 'rk11', 'vault:v1', '']) {
      expect(decryptValue(rotated, context, prefix + text.slice(3))).toEqual({ ok: false, error: 'invalid_ciphertext' })
    }
  })

  test('row 63: a text of the new version does not open with the key of the old one', async () => {
    const text = sealed('a', context, await ringOf(encryptionKey(2, 'primary')))
    const both = await ringOf(encryptionKey(1, 'decrypt_only'), encryptionKey(2, 'primary'))
    expect(decryptValue(both, context, text.replace('rk1:2:', 'rk1:1:'))).toEqual({
      ok: false,
      error: 'decryption_failed',
    })
  })

  test('row 66: while a rotation is half-way across replicas, what one encrypts every other decrypts', async () => {
    const [first, second] = [encryptionKey(1, 'primary'), encryptionKey(2, 'pending')]
    const added = await ringOf(first, second)
    const promoted = await ringOf({ ...first, state: 'decrypt_only' }, { ...second, state: 'primary' })
    for (const [from, to] of [
      [added, promoted],
      [promoted, added],
    ] as const) {
      expect(decryptValue(to, context, sealed('a', context, from))).toMatchObject({ ok: true, value: 'a' })
    }
  })
})

test('row 62: every pair of differing fields, realms, bindings and subjects keeps its texts apart', async () => {
  const other = await loadKeyring({
    ...emptyKeyring('other', { namespace: 'a', name: 'b' }),
    encryption: [encryptionKey(1, 'primary')],
  })
  const places = [
    { ring, context },
    { ring: other, context },
    { ring, context: { ...context, field: 'ssn', tag: 'ssn' } },
    { ring, context: { ...context, binding: 'Subject' as const } },
    { ring, context: { ...context, binding: 'Subject' as const, sub: 'bob' } },
  ]
  for (const from of places) {
    const text = sealed('a', from.context, from.ring)
    for (const to of places) {
      const opened = decryptValue(to.ring, to.context, text)
      expect(opened).toEqual(
        from === to ? { ok: true, value: 'a', keyVersion: 1, stale: false } : { ok: false, error: 'decryption_failed' },
      )
    }
  }
})

test('row 62: a commitment of the right key over a changed text, and the reverse, both fail', () => {
  const [one, two] = [sealed('one'), sealed('two')].map((text) => Buffer.from(text.slice('rk1:1:'.length), 'base64url'))
  // salt, commitment, and what follows, of two values under one key, in every mixture but the two genuine ones
  for (const mix of [
    [1, 2, 2],
    [2, 1, 2],
    [2, 2, 1],
    [1, 1, 2],
    [1, 2, 1],
    [2, 1, 1],
  ]) {
    const parts = mix.map(
      (which, part) => (which === 1 ? one : two)?.subarray([1, 25, 45][part], [25, 45, 64][part]) ?? Buffer.alloc(0),
    )
    const text = `rk1:1:${Buffer.concat([Buffer.alloc(1), ...parts]).toString('base64url')}`
    expect(decryptValue(ring, context, text), mix.join()).toEqual({ ok: false, error: 'decryption_failed' })
  }
})

test('row 64: one value encrypted many times on two replicas never has the same salt or text twice', async () => {
  const replicas = [ring, await ringOf(encryptionKey(1, 'primary'))]
  const salts = new Set<string>()
  const texts = new Set<string>()
  const rounds = 20_000
  for (let round = 0; round < rounds; round++) {
    const text = sealed('1990-01-31', context, replicas[round % 2])
    texts.add(text)
    salts.add(Buffer.from(parseCiphertext(text)?.salt ?? []).toString('hex'))
  }
  expect([salts.size, texts.size]).toEqual([rounds, rounds])
})

test('row 67: no exception of the cipher contains the value', () => {
  const canary = 'canary-8c1d'
  for (const act of [
    () => encryptValue(ring, context, `${canary}\ud800`),
    () => encryptValue(ring, context, canary.repeat(10_000)),
    () => encryptValue(ring, { ...context, sub: 'x'.repeat(70_000), binding: 'Subject' }, canary),
  ]) {
    expect(act).toThrow(Error)
    expect(act).not.toThrow(canary)
  }
})

const malformed: [string, string][] = [
  ['nothing', ''],
  ['any text', 'hello'],
  ['a prefix', 'rk1:'],
  ['no body', 'rk1:1:'],
  ['no version', `rk1:${'A'.repeat(82)}`],
  ['60 bytes', `rk1:1:${Buffer.alloc(60).toString('base64url')}`],
  ['a length that base64 never has', `rk1:1:${'A'.repeat(85)}`],
  ['a colon at the end', `rk1:1:${'A'.repeat(82)}:`],
  ['a body over the largest value', `rk1:1:${Buffer.alloc(61 + MAX_VALUE_BYTES + 8).toString('base64url')}`],
  ['10 MB', `rk1:1:${'A'.repeat(10_000_000)}`],
  ['a million digits', `rk1:${'1'.repeat(1_000_000)}`],
]
test.each(malformed)('%s is no ciphertext', (_, text) => {
  expect(decryptValue(ring, context, text)).toEqual({ ok: false, error: 'invalid_ciphertext' })
})
