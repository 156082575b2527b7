import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { calculateJwkThumbprint } from 'jose'
import { beforeAll, describe, expect, test } from 'vitest'
import { fingerprint } from '../../keyring/derivation.ts'
import { SIGNING_ALGORITHMS } from '../../keyring/jws.ts'
import { generateSigningKey } from '../../keyring/generate.ts'
import { emptyKeyring, MAX_KEYRING_BYTES, serializeKeyring, type Keyring } from '../../keyring/keyring.ts'
import { parseKeyring } from '../../keyring/parse_keyring.ts'
import { KeyringError } from '../../keyring/members.ts'
import { isJsonObject } from '../../keyring/strict_parsing.ts'
import { encryptionKey, sampleKeyring, START } from './sample_keyring.ts'

let sample: Keyring
let rsa: Keyring['signing'][number]

beforeAll(async () => {
  const encryption = [encryptionKey(1, 'destroyed'), encryptionKey(2, 'disabled'), encryptionKey(3, 'decrypt_only')]
  sample = await sampleKeyring([...encryption, encryptionKey(4, 'primary'), encryptionKey(7, 'pending')])
  rsa = await generateSigningKey('RS256', START)
})

test.each(SIGNING_ALGORITHMS)('a keyring with a key for %s comes back as it was written', async (alg) => {
  const written = { ...sample, signing: [...sample.signing, await generateSigningKey(alg, START)] }
  expect(await parseKeyring(serializeKeyring(written), 'quickstart')).toEqual(written)
})

test('an empty keyring and every optional member come back as they were written', async () => {
  const empty = emptyKeyring('quickstart', { namespace: 'a', name: 'b' })
  expect(await parseKeyring(serializeKeyring(empty), 'quickstart')).toEqual(empty)

  const at = START.toISOString()
  const full = structuredClone(sample)
  Object.assign(full.signing[0] ?? {}, { publishedAt: at, passiveAt: at, tokenLifetimeSeconds: 300 })
  Object.assign(full.encryption[2] ?? {}, { primaryAt: at, decryptOnlyAt: at, disabledAt: at })
  full.rotated = { signing: 'a', refresh: 'b', encryption: 'c' }
  expect(await parseKeyring(serializeKeyring(full), 'quickstart')).toEqual(full)
})

/** Parses the sample with one thing changed; returns the error's message. */
async function refusal(change: (keyring: Keyring) => void): Promise<string> {
  const changed = structuredClone(sample)
  change(changed)
  try {
    await parseKeyring(Buffer.from(JSON.stringify(changed)), 'quickstart')
  } catch (error) {
    expect(error).toBeInstanceOf(KeyringError)
    expect(error).not.toHaveProperty('cause')
    return error instanceof Error ? error.message : ''
  }
  throw new Error('the keyring was accepted')
}

/** The item of a list, for tests that know it is there; typed loosely because they break it. */
function item(list: object[], at = 0): Record<string, unknown> {
  const found: unknown = list[at]
  if (!isJsonObject(found)) throw new Error(`nothing at ${at}`)
  return found
}

const secretOf = (fill: number) => Buffer.alloc(32, fill).toString('base64url')

const refreshKey = (fill: number) => ({ kid: fingerprint(Buffer.alloc(32, fill)), key: secretOf(fill) })

const broken: [string, (keyring: Keyring) => void, string][] = [
  ['another format version', (k) => Object.assign(k, { formatVersion: 2 }), 'formatVersion'],
  ['another realm', (k) => Object.assign(k, { realm: 'other' }), 'not of the realm "quickstart"'],
  ['an unknown member', (k) => Object.assign(k, { more: 1 }), 'does not know'],
  ['no owner', (k) => Object.assign(k, { owner: undefined }), 'no member "owner"'],
  ['an owner without a name', (k) => Object.assign(k.owner, { name: '' }), 'owner.name'],
  ['no list of signing keys', (k) => Object.assign(k, { signing: {} }), 'signing is not a list'],
  ['a key that is null', (k) => Object.assign(k, { refresh: [null] }), 'refresh[0] is not an object'],
  ['a signing key without kid', (k) => delete item(k.signing).kid, 'signing[0] has no member "kid"'],
  ['an unknown state', (k) => Object.assign(item(k.signing), { state: 'Active' }), 'signing[0].state'],
  ['an unknown algorithm', (k) => Object.assign(item(k.signing), { alg: 'none' }), 'signing[0].alg'],
  ['an invalid time', (k) => Object.assign(item(k.signing), { createdAt: '2030-13-01T00:00:00Z' }), 'createdAt'],
  [
    'a time with an offset',
    (k) => Object.assign(item(k.refresh), { passiveAt: '2030-01-01T00:00:00+01:00' }),
    'passiveAt',
  ],
  [
    'other bytes under the kid of a refresh key',
    (k) => Object.assign(item(k.refresh), { key: secretOf(99) }),
    'refresh[0].kid is not the fingerprint of its key',
  ],
  ['a lifetime of 0', (k) => Object.assign(item(k.refresh), { tokenLifetimeSeconds: 0 }), 'tokenLifetimeSeconds'],
  ['two keys with one kid', (k) => k.signing.push(structuredClone(k.signing[0]!)), 'one kid'],
  ['two refresh keys of one kid', (k) => k.refresh.push({ ...k.refresh[0]!, state: 'passive' }), 'one kid'],
  [
    'two active refresh keys',
    (k) => k.refresh.push({ ...k.refresh[0]!, ...refreshKey(99) }),
    'two active refresh keys',
  ],
  ['a field twice', (k) => k.fields.push({ ...k.fields[0]!, tag: 'b' }), 'one field'],
  ['a tag twice', (k) => k.fields.push({ ...k.fields[0]!, field: 'b' }), 'one tag'],
  ['a tag with a capital', (k) => Object.assign(item(k.fields), { tag: 'Dob' }), 'fields[0].tag'],
  ['an unknown binding', (k) => Object.assign(item(k.fields), { binding: 'User' }), 'fields[0].binding'],
  [
    'a field name with half a surrogate pair',
    (k) => Object.assign(item(k.fields), { field: '\ud800' }),
    'fields[0].field',
  ],
  ['two primary keys', (k) => Object.assign(item(k.encryption, 2), { state: 'primary' }), 'two primary'],
  ['a version twice', (k) => Object.assign(item(k.encryption, 4), { version: 4 }), 'one version'],
  ['a version 0', (k) => Object.assign(item(k.encryption, 4), { version: 0 }), 'encryption[4].version'],
  ['a version of 2^31', (k) => Object.assign(item(k.encryption, 4), { version: 2 ** 31 }), 'encryption[4].version'],
  ['a version that is a text', (k) => Object.assign(item(k.encryption, 4), { version: '7' }), 'encryption[4].version'],
  [
    'a fingerprint of other bytes',
    (k) => Object.assign(item(k.encryption, 4), { key: secretOf(8) }),
    'not that of its key',
  ],
  [
    'one key under two versions',
    (k) => k.encryption.push({ ...k.encryption[3]!, version: 9, state: 'pending' }),
    'one fingerprint',
  ],
  [
    'a refresh key with the bytes of an encryption key',
    (k) => Object.assign(item(k.refresh), refreshKey(4)),
    'same bytes',
  ],
  ['a destroyed key with bytes', (k) => Object.assign(item(k.encryption), { key: secretOf(1) }), 'remove the key'],
  ['a disabled key without bytes', (k) => delete item(k.encryption, 1).key, 'encryption[1].key'],
]

test.each(broken)('row 34: a keyring with %s is refused', async (_, change, reason) => {
  expect(await refusal(change)).toContain(reason)
})

const wrongBytes: [string, unknown][] = [
  ['all zeros', secretOf(0)],
  ['31 bytes', Buffer.alloc(31, 5).toString('base64url')],
  ['33 bytes', Buffer.alloc(33, 5).toString('base64url')],
  ['padding', `${secretOf(5)}=`],
  ['the alphabet of base64', `+${secretOf(5).slice(1)}`],
  ['left-over bits', `${secretOf(5).slice(0, -1)}V`],
  ['no text', 5],
  ['an empty text', ''],
]

test.each(wrongBytes)('row 65: a key of %s is refused', async (_, key) => {
  expect(await refusal((keyring) => Object.assign(item(keyring.encryption, 3), { key }))).toContain('encryption[3].key')
  expect(await refusal((keyring) => Object.assign(item(keyring.refresh), { key }))).toContain('refresh[0].key')
})

const unreadable: [string, Uint8Array, string][] = [
  ['no bytes', Buffer.alloc(0), 'empty'],
  ['bytes that are no JSON', Buffer.from('{"formatVersion":1,"realm":"quick'), 'not valid JSON'],
  ['bytes that are no UTF-8', Buffer.from([0x22, 0xc3, 0x22]), 'UTF-8'],
  ['an empty object', Buffer.from('{}'), 'no member'],
  ['a list', Buffer.from('[]'), 'not an object'],
  ['a member named twice', Buffer.from('{"formatVersion":1,"formatVersion":1}'), 'twice'],
  ['more than a Secret can hold', Buffer.alloc(MAX_KEYRING_BYTES + 1, 0x20), 'over'],
]

test.each(unreadable)('row 65: %s are refused', async (_, bytes, reason) => {
  await expect(parseKeyring(bytes, 'quickstart')).rejects.toThrow(KeyringError)
  await expect(parseKeyring(bytes, 'quickstart')).rejects.toThrow(reason)
})

test('a list longer than its bound is refused', async () => {
  expect(await refusal((k) => Object.assign(k, { signing: Array.from({ length: 33 }, () => k.signing[0]) }))).toContain(
    'more than 32',
  )
  expect(await refusal((k) => Object.assign(k, { encryption: Array.from({ length: 1025 }, () => null) }))).toContain(
    'more than 1024',
  )
})

describe('the JWK of a signing key', () => {
  const withJwk = async (alg: string, jwk: Record<string, unknown>, kid?: string) => {
    const named = kid ?? (await calculateJwkThumbprint(jwk))
    return refusal((keyring) => Object.assign(item(keyring.signing), { alg, jwk, kid: named }))
  }
  const rsaOf = (modulusLength: number, publicExponent = 65_537) =>
    generateKeyPairSync('rsa', { modulusLength, publicExponent }).privateKey.export({ format: 'jwk' })
  const ecOf = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).privateKey.export({ format: 'jwk' })

  test('row 34: an RSA key under 2048 bits, or with a small exponent, is refused', async () => {
    expect(await withJwk('RS256', rsaOf(1024))).toContain('2048')
    expect(await withJwk('RS256', rsaOf(2048, 3))).toContain('exponent')
  })

  test('row 34: a key of another type or curve than its algorithm is refused', async () => {
    expect(await withJwk('ES256', rsa.jwk)).toContain('type EC')
    expect(await withJwk('RS256', ecOf('P-256'))).toContain('type RSA')
    expect(await withJwk('EdDSA', ecOf('P-256'))).toContain('type OKP')
    expect(await withJwk('ES256', ecOf('P-384'))).toContain('curve P-256')
    expect(await withJwk('ES384', ecOf('P-256'))).toContain('curve P-384')
    expect(await withJwk('EdDSA', generateKeyPairSync('ed448').privateKey.export({ format: 'jwk' }))).toContain(
      'curve Ed25519',
    )
  })

  test('row 34: a kid that is not the thumbprint is refused', async () => {
    expect(await withJwk('RS256', rsa.jwk, 'my-key')).toContain('thumbprint')
    expect(await withJwk('RS256', { ...rsa.jwk, kid: 'my-key' })).toContain('thumbprint')
  })

  test('row 34: a public key, or one with a member left out, is refused', async () => {
    for (const name of ['n', 'e', 'd', 'p', 'q', 'dp', 'dq', 'qi'] as const) {
      const { [name]: _, ...less } = rsa.jwk
      expect(await withJwk('RS256', less, rsa.kid)).toContain(`no member "${name}"`)
    }
  })

  test('row 34: a private part that does not belong to the public one is refused', async () => {
    const pairs = [ecOf('P-256'), ecOf('P-256')] as const
    expect(await withJwk('ES256', { ...pairs[0], d: pairs[1].d })).toMatch(/damaged|not a usable/)
    const ed = () => generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
    expect(await withJwk('EdDSA', { ...ed(), d: ed().d })).toMatch(/damaged|not a usable/)
    const other = rsaOf(2048)
    expect(await withJwk('RS256', { ...other, n: rsa.jwk.n, e: rsa.jwk.e })).toMatch(/damaged|not a usable/)
  })

  test('row 34: members that are no canonical numbers are refused', async () => {
    const padded = Buffer.concat([Buffer.alloc(1), Buffer.from(String(rsa.jwk.n), 'base64url')]).toString('base64url')
    expect(await withJwk('RS256', { ...rsa.jwk, n: padded })).toContain('leading zero')
    expect(await withJwk('RS256', { ...rsa.jwk, n: `${String(rsa.jwk.n)}=` })).toContain('base64url')
    expect(await withJwk('RS256', { ...rsa.jwk, d: 7 })).toContain('base64url')
    const ec = ecOf('P-256')
    expect(await withJwk('ES256', { ...ec, x: randomBytes(31).toString('base64url') })).toContain('32 bytes')
    expect(await withJwk('ES256', { ...ec, x: randomBytes(32).toString('base64url') })).toMatch(/damaged|not a usable/)
  })

  test('alg, use and kid of the JWK are accepted where they agree', async () => {
    const { signing } = sample
    const key = signing[0]!
    const jwk = { ...key.jwk, alg: 'EdDSA', use: 'sig', kid: key.kid }
    const parsed = await parseKeyring(serializeKeyring({ ...sample, signing: [{ ...key, jwk }] }), 'quickstart')
    expect(parsed.signing[0]).toEqual(key)
    expect(await withJwk('EdDSA', { ...jwk, use: 'enc' })).toContain('use')
    expect(await withJwk('EdDSA', { ...jwk, alg: 'ES256' })).toContain('alg')
    expect(await withJwk('EdDSA', { ...jwk, key_ops: ['sign'] })).toContain('does not know')
  })
})

test('row 67: no refusal quotes anything of the keyring', async () => {
  const text = serializeKeyring({ ...sample, signing: [...sample.signing, rsa] }).toString('utf8')
  const secrets = [
    ...sample.encryption.flatMap(({ key }) => key ?? []),
    ...sample.refresh.map(({ key }) => key),
    ...[rsa, ...sample.signing].flatMap(({ jwk }) => [jwk.d, jwk.p, jwk.q].filter((member) => member !== undefined)),
  ]
  let refused = 0
  // Cut, and with one character changed, at places all over the file: each breaks another thing.
  for (let at = 1; at < text.length; at += 13) {
    for (const damaged of [
      text.slice(0, at),
      `${text.slice(0, at)}"${text.slice(at + 1)}`,
      `${text.slice(0, at)}!${text.slice(at + 1)}`,
    ]) {
      try {
        await parseKeyring(Buffer.from(damaged), 'quickstart')
      } catch (error) {
        refused += 1
        const shown = error instanceof KeyringError ? `${error.message} ${error.stack ?? ''}` : String(error)
        expect(error).toBeInstanceOf(KeyringError)
        // Ten characters of a key are enough to give it away in part.
        for (const secret of secrets) expect(shown).not.toContain(secret.slice(4, 14))
      }
    }
  }
  expect(refused).toBeGreaterThan(500)
})
