import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { importJWK, jwtVerify } from 'jose'
import { describe, expect, test } from 'vitest'
import { signJws } from '../../keyring/jws.ts'
import {
  issueLicense,
  LicenseKeyError,
  verifyLicense,
  type LicenseClaims,
  type LicenseKey,
} from '../../keyring/license.ts'

const NOW = new Date('2030-01-01T00:00:00Z')
const EXPIRES = new Date('2031-01-01T00:00:00Z')
const pair = generateKeyPairSync('ed25519')
const privateJwk = pair.privateKey.export({ format: 'jwk' })
const publicJwk = pair.publicKey.export({ format: 'jwk' })
const stranger = generateKeyPairSync('ed25519')

const claims: LicenseClaims = {
  issuer: 'https://example.com/licenses',
  realm: 'quickstart',
  features: ['field-encryption'],
  expiresAt: EXPIRES,
  jti: 'license-1',
}
const request = { realm: 'quickstart', now: NOW }
const license = issueLicense(claims, privateJwk)

test('what is issued is valid, and tells when it ends', () => {
  expect(verifyLicense(license, [publicJwk], request)).toEqual({
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

test('a line end around it, and several keys of every form, are no matter', () => {
  const pem = pair.publicKey.export({ format: 'pem', type: 'spki' }).toString()
  for (const key of [publicJwk, JSON.stringify(publicJwk), pem, pair.publicKey]) {
    expect(verifyLicense(`\n${license}\r\n`, [stranger.publicKey, key], request).valid).toBe(true)
  }
})

/** A token of our key with another header or other claims. */
function made(change: object, header: object = {}): string {
  const exp = EXPIRES.getTime() / 1000
  const payload = { iss: 'i', realm: 'quickstart', features: ['field-encryption'], exp, jti: 'j', ...change }
  return signJws({ alg: 'EdDSA', typ: 'rk-license+jwt', ...header }, payload, pair.privateKey)
}

const refused: [string, string, string][] = [
  ['of another realm', made({ realm: 'other' }), 'WrongRealm'],
  ['without the feature', made({ features: ['something'] }), 'FeatureMissing'],
  ['without any feature', made({ features: [] }), 'FeatureMissing'],
  ['that expired this second', made({ exp: NOW.getTime() / 1000 }), 'Expired'],
  ['that expired long ago', made({ exp: 1 }), 'Expired'],
  ['of an unknown key', issueLicense(claims, stranger.privateKey.export({ format: 'jwk' })), 'UnknownKey'],
  [
    'with another payload under the signature',
    `${license.split('.')[0]}.${made({}).split('.')[1]}.${license.split('.')[2]}`,
    'UnknownKey',
  ],
  ['of another typ', made({}, { typ: 'JWT' }), 'Malformed'],
  ['without typ', made({}, { typ: undefined }), 'Malformed'],
  ['with crit', made({}, { crit: ['exp'] }), 'Malformed'],
  ['with exp as a text', made({ exp: '1924992000' }), 'Malformed'],
  ['with a fraction as exp', made({ exp: 1924992000.5 }), 'Malformed'],
  ['with exp beyond all dates', made({ exp: 1e300 }), 'Malformed'],
  ['with a negative exp', made({ exp: -1 }), 'Malformed'],
  ['without exp', made({ exp: undefined }), 'Malformed'],
  ['without iss', made({ iss: undefined }), 'Malformed'],
  ['without jti', made({ jti: '' }), 'Malformed'],
  ['with realm as a list', made({ realm: ['quickstart'] }), 'Malformed'],
  ['with features as a text', made({ features: 'field-encryption' }), 'Malformed'],
  ['with a feature that is no text', made({ features: ['field-encryption', 1] }), 'Malformed'],
  ['with too many features', made({ features: Array.from({ length: 33 }, () => 'field-encryption') }), 'Malformed'],
  ['that is empty', '', 'Malformed'],
  ['that is any text', 'hello', 'Malformed'],
  ['of two parts', license.split('.').slice(0, 2).join('.'), 'Malformed'],
  ['that is too long', made({ iss: 'x'.repeat(9000) }), 'Malformed'],
  ['of 10 MB', 'x'.repeat(10_000_000), 'Malformed'],
]

test.each(refused)('a license %s is refused', (_, jws, reason) => {
  const verdict = verifyLicense(jws, [publicJwk], request)
  expect(verdict).toMatchObject({ valid: false, reason })
})

test.each(['ES256', 'RS256', 'HS512'] as const)(
  'a license signed with %s is refused, whichever key is trusted',
  (alg) => {
    const header = { alg, typ: 'rk-license+jwt' }
    const input = [header, { ...claims, exp: 1e10 }].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    )
    expect(verifyLicense(`${input.join('.')}.AAAA`, [publicJwk], request)).toMatchObject({ reason: 'Malformed' })
  },
)

test('without trusted keys, none is valid', () => {
  expect(verifyLicense(license, [], request)).toMatchObject({ valid: false, reason: 'UnknownKey' })
})

test('an expired one still tells when it ended', () => {
  const later = new Date('2032-01-01T00:00:00Z')
  expect(verifyLicense(license, [publicJwk], { realm: 'quickstart', now: later })).toMatchObject({
    reason: 'Expired',
    expiresAt: EXPIRES,
  })
})

test('any character changed makes it invalid', () => {
  for (let at = 0; at < license.length; at++) {
    const other = license[at] === 'A' ? 'Q' : 'A'
    const changed = license.slice(0, at) + other + license.slice(at + 1)
    expect(verifyLicense(changed, [publicJwk], request).valid, `character ${at}`).toBe(false)
  }
})

describe('keys that are none', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const wrong: [string, LicenseKey][] = [
    ['a private JWK', privateJwk],
    ['the text of a private JWK', JSON.stringify(privateJwk)],
    ['private PEM', pair.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()],
    ['a private KeyObject', pair.privateKey],
    ['an RSA key', createPublicKey(rsa.privateKey)],
    ['an RSA JWK', rsa.publicKey.export({ format: 'jwk' })],
    ['any text', 'ssh-ed25519 AAAA'],
    ['broken JSON', '{"kty":"OKP"'],
    ['an empty text', ''],
    ['a list', '[]'],
    ['an empty JWK', {}],
  ]
  test.each(wrong)('%s is refused for verifying, without telling any of it', (_, key) => {
    const act = () => verifyLicense(license, [publicJwk, key], request)
    expect(act).toThrow(LicenseKeyError)
    expect(act).not.toThrow(String(privateJwk.d))
  })

  test('a public or another key is refused for issuing', () => {
    for (const key of [publicJwk, rsa.privateKey.export({ format: 'jwk' }), {}, { ...privateJwk, d: 'AA' }]) {
      expect(() => issueLicense(claims, key)).toThrow(LicenseKeyError)
    }
  })
})

test('a license that could never be valid is not issued', () => {
  const broken: Partial<LicenseClaims>[] = [
    { features: [] },
    { jti: '' },
    { realm: '' },
    { issuer: 'x'.repeat(256) },
    { expiresAt: new Date(Number.NaN) },
    { expiresAt: new Date(-5000) },
  ]
  for (const change of broken) expect(() => issueLicense({ ...claims, ...change }, privateJwk)).toThrow(RangeError)
})
