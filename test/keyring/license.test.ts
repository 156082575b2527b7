import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { importJWK, jwtVerify } from 'jose'
import { describe, expect, test } from 'vitest'
import {
  issueLicense,
  LicenseKeyError,
  verifyLicense,
  type LicenseClaims,
  type LicenseKey,
} from '../../keyring/license.ts'
import { rawJws } from '../support/signed_tokens.ts'

const NOW = new Date('2030-01-01T00:00:00Z')
const EXPIRES = new Date('2031-01-01T00:00:00Z')
const pair = generateKeyPairSync('ed25519')
const privateJwk = pair.privateKey.export({ format: 'jwk' })
const publicJwk = pair.publicKey.export({ format: 'jwk' })
const untrusted = generateKeyPairSync('ed25519')
const imported = (key: KeyObject, usage: 'sign' | 'verify') => key.toCryptoKey('Ed25519', true, [usage])

const claims: LicenseClaims = {
  issuer: 'https://example.com/licenses',
  realm: 'quickstart',
  features: ['field-encryption'],
  expiresAt: EXPIRES,
  jti: 'license-1',
}
const request = { realm: 'quickstart', now: NOW }
const license = await issueLicense(claims, privateJwk)

test('what is issued is valid, and tells when it ends', async () => {
  expect(await verifyLicense(license, [publicJwk], request)).toEqual({
    valid: true,
    expiresAt: EXPIRES,
    issuer: claims.issuer,
    jti: 'license-1',
  })
})

test('jose verifies it', async () => {
  const key = await importJWK({ ...publicJwk, kty: 'OKP' }, 'EdDSA')
  const { payload, protectedHeader } = await jwtVerify(license, key, { typ: 'rk-license+jwt', currentDate: NOW })
  expect(payload).toEqual({
    iss: claims.issuer,
    realm: 'quickstart',
    features: ['field-encryption'],
    exp: EXPIRES.getTime() / 1000,
    jti: 'license-1',
  })
  expect(Object.keys(protectedHeader).toSorted()).toEqual(['alg', 'kid', 'typ'])
})

test('a line end around it, and several keys of every form, are no matter', async () => {
  const pem = pair.publicKey.export({ format: 'pem', type: 'spki' }).toString()
  for (const key of [publicJwk, JSON.stringify(publicJwk), pem, imported(pair.publicKey, 'verify')]) {
    expect(
      (await verifyLicense(`\n${license}\r\n`, [imported(untrusted.publicKey, 'verify'), key], request)).valid,
    ).toBe(true)
  }
})

/** A token of our key with another header or other claims. */
function made(change: object, header: object = {}): Promise<string> {
  const exp = EXPIRES.getTime() / 1000
  const payload = { iss: 'i', realm: 'quickstart', features: ['field-encryption'], exp, jti: 'j', ...change }
  return rawJws({ alg: 'EdDSA', typ: 'rk-license+jwt', ...header }, payload, {
    alg: 'EdDSA',
    key: pair.privateKey,
  })
}

const refused: [string, string, string][] = [
  ['of another realm', await made({ realm: 'other' }), 'WrongRealm'],
  ['without the feature', await made({ features: ['something'] }), 'FeatureMissing'],
  ['without any feature', await made({ features: [] }), 'FeatureMissing'],
  ['that expired this second', await made({ exp: NOW.getTime() / 1000 }), 'Expired'],
  ['that expired long ago', await made({ exp: 1 }), 'Expired'],
  ['of an unknown key', await issueLicense(claims, untrusted.privateKey.export({ format: 'jwk' })), 'UnknownKey'],
  [
    'with another payload under the signature',
    `${license.split('.')[0]}.${(await made({})).split('.')[1]}.${license.split('.')[2]}`,
    'UnknownKey',
  ],
  ['of another typ', await made({}, { typ: 'JWT' }), 'Malformed'],
  ['without typ', await made({}, { typ: undefined }), 'Malformed'],
  ['with crit', await made({}, { crit: ['exp'] }), 'Malformed'],
  ['with exp as a text', await made({ exp: '1924992000' }), 'Malformed'],
  ['with a fraction as exp', await made({ exp: 1924992000.5 }), 'Malformed'],
  ['with exp beyond all dates', await made({ exp: 1e300 }), 'Malformed'],
  ['with a negative exp', await made({ exp: -1 }), 'Malformed'],
  ['without exp', await made({ exp: undefined }), 'Malformed'],
  ['without iss', await made({ iss: undefined }), 'Malformed'],
  ['without jti', await made({ jti: '' }), 'Malformed'],
  ['with realm as a list', await made({ realm: ['quickstart'] }), 'Malformed'],
  ['with features as a text', await made({ features: 'field-encryption' }), 'Malformed'],
  ['with a feature that is no text', await made({ features: ['field-encryption', 1] }), 'Malformed'],
  [
    'with too many features',
    await made({ features: Array.from({ length: 33 }, () => 'field-encryption') }),
    'Malformed',
  ],
  ['that is empty', '', 'Malformed'],
  ['that is any text', 'hello', 'Malformed'],
  ['of two parts', license.split('.').slice(0, 2).join('.'), 'Malformed'],
  ['that is too long', await made({ iss: 'x'.repeat(9000) }), 'Malformed'],
  ['of 10 MB', 'x'.repeat(10_000_000), 'Malformed'],
]

test.each(refused)('a license %s is refused', async (_, jws, reason) => {
  const verdict = await verifyLicense(jws, [publicJwk], request)
  expect(verdict).toMatchObject({ valid: false, reason })
})

test.each(['ES256', 'RS256', 'HS512'] as const)(
  'a license signed with %s is refused, whichever key is trusted',
  async (alg) => {
    const header = { alg, typ: 'rk-license+jwt' }
    const input = [header, { ...claims, exp: 1e10 }].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    )
    expect(await verifyLicense(`${input.join('.')}.AAAA`, [publicJwk], request)).toMatchObject({ reason: 'Malformed' })
  },
)

test('without trusted keys, none is valid', async () => {
  expect(await verifyLicense(license, [], request)).toMatchObject({ valid: false, reason: 'UnknownKey' })
})

test('an expired one still tells when it ended', async () => {
  const later = new Date('2032-01-01T00:00:00Z')
  expect(await verifyLicense(license, [publicJwk], { realm: 'quickstart', now: later })).toMatchObject({
    reason: 'Expired',
    expiresAt: EXPIRES,
  })
})

test('any character changed makes it invalid', async () => {
  for (let at = 0; at < license.length; at++) {
    const other = license[at] === 'A' ? 'Q' : 'A'
    const changed = license.slice(0, at) + other + license.slice(at + 1)
    expect((await verifyLicense(changed, [publicJwk], request)).valid, `character ${at}`).toBe(false)
  }
})

describe('keys that are none', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const wrong: [string, LicenseKey][] = [
    ['a private JWK', privateJwk],
    ['the text of a private JWK', JSON.stringify(privateJwk)],
    ['private PEM', pair.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()],
    ['an imported private key', imported(pair.privateKey, 'sign')],
    ['an RSA key', createPublicKey(rsa.privateKey).toCryptoKey({ name: 'RSA-PSS', hash: 'SHA-256' }, true, ['verify'])],
    ['an RSA JWK', rsa.publicKey.export({ format: 'jwk' })],
    ['any text', 'ssh-ed25519 AAAA'],
    ['broken JSON', '{"kty":"OKP"'],
    ['an empty text', ''],
    ['a list', '[]'],
    ['an empty JWK', {}],
  ]
  test.each(wrong)('%s is refused for verifying, without telling any of it', async (_, key) => {
    const error: unknown = await verifyLicense(license, [publicJwk, key], request).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(LicenseKeyError)
    expect(String(error)).not.toContain(String(privateJwk.d))
  })

  test('a public or another key is refused for issuing', async () => {
    for (const key of [publicJwk, rsa.privateKey.export({ format: 'jwk' }), {}, { ...privateJwk, d: 'AA' }]) {
      await expect(issueLicense(claims, key)).rejects.toThrow(LicenseKeyError)
    }
  })
})

test('a license that could never be valid is not issued', async () => {
  const broken: Partial<LicenseClaims>[] = [
    { features: [] },
    { jti: '' },
    { realm: '' },
    { issuer: 'x'.repeat(256) },
    { expiresAt: new Date(Number.NaN) },
    { expiresAt: new Date(-5000) },
  ]
  for (const change of broken) {
    await expect(issueLicense({ ...claims, ...change }, privateJwk)).rejects.toThrow(RangeError)
  }
})
