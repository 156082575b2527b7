import { createPrivateKey, createPublicKey, createSecretKey, randomBytes, sign, type KeyObject } from 'node:crypto'
import {
  calculateJwkThumbprint,
  CompactSign,
  compactVerify,
  exportSPKI,
  importJWK,
  type CryptoKey,
  type JWK,
} from 'jose'
import { beforeAll, describe, expect, test } from 'vitest'
import { generateSigningKey } from '../../keyring/generate.ts'
import {
  parseJws,
  SIGNING_ALGORITHMS,
  signJws,
  verifyJws,
  type HmacKey,
  type Signer,
  type SigningAlgorithm,
  type Verifier,
} from '../../keyring/jws.ts'
import { importSigningJwk, type PrivateJwk } from '../../keyring/signing_jwk.ts'
import { rawJws } from '../support/signed_tokens.ts'
import { START } from './sample_keyring.ts'

const ALGORITHMS: JwsAlgorithm[] = [...SIGNING_ALGORITHMS, 'HS512']
type JwsAlgorithm = (Signer | HmacKey)['alg']
type Key = CryptoKey | KeyObject
const keys = new Map<JwsAlgorithm, { privateKey: Key; publicKey: Key }>()
const jwks = new Map<SigningAlgorithm, PrivateJwk>()

beforeAll(async () => {
  for (const alg of SIGNING_ALGORITHMS) {
    const { jwk } = await generateSigningKey(alg, START)
    jwks.set(alg, jwk)
    keys.set(alg, await importSigningJwk(jwk, alg, 'test'))
  }
  const secret = createSecretKey(randomBytes(64))
  keys.set('HS512', { privateKey: secret, publicKey: secret })
})

function keysOf(alg: JwsAlgorithm) {
  const pair = keys.get(alg)
  if (!pair) throw new Error(`no key for ${alg}`)
  return pair
}
/** An algorithm with a key, one that does not fit it included. */
const signerFor = (alg: JwsAlgorithm, key: Key) => ({ alg, key }) as Signer | HmacKey
const verifierFor = (alg: JwsAlgorithm, key: Key) => ({ alg, key }) as Verifier | HmacKey
const signer = (alg: JwsAlgorithm) => signerFor(alg, keysOf(alg).privateKey)
const verifier = (alg: JwsAlgorithm, of = alg) => verifierFor(alg, keysOf(of).publicKey)

const payload = { sub: 'alice', name: 'žluťoučký 🐎', n: 1, list: [{ a: 1 }, { a: 2 }] }

describe.each(ALGORITHMS)('%s', (alg) => {
  test('a signed token has the members of its header and payload and no others', async () => {
    const token = await signJws({ kid: 'k1', typ: 'at+jwt' }, payload, signer(alg))
    const { payload: bytes, protectedHeader } = await compactVerify(token, keysOf(alg).publicKey, { algorithms: [alg] })
    expect(JSON.parse(Buffer.from(bytes).toString('utf8'))).toEqual(payload)
    expect(protectedHeader).toEqual({ alg, kid: 'k1', typ: 'at+jwt' })
    expect(await verifyJws(parsedJws(token), verifier(alg))).toBe(true)
  })

  test('a token of another signer with the same key is accepted', async () => {
    const byJose = await new CompactSign(Buffer.from(JSON.stringify(payload)))
      .setProtectedHeader({ alg, kid: 'k1' })
      .sign(keysOf(alg).privateKey)
    for (const token of [byJose, await rawJws({ alg, kid: 'k1' }, payload, signer(alg))]) {
      const parsed = parsedJws(token)
      expect(parsed.payload).toEqual(payload)
      expect(await verifyJws(parsed, verifier(alg))).toBe(true)
    }
  })

  test('is refused with any byte of the signature changed, cut or added', async () => {
    const token = await signJws({}, payload, signer(alg))
    const input = token.slice(0, token.lastIndexOf('.'))
    const signature = Buffer.from(token.slice(input.length + 1), 'base64url')
    const isAccepted = (changed: Buffer) =>
      verifyJws(parsedJws(`${input}.${changed.toString('base64url')}`), verifier(alg))
    expect(await isAccepted(signature)).toBe(true)
    for (let at = 0; at < signature.length; at++) {
      const changed = Buffer.from(signature)
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
      expect(await isAccepted(changed)).toBe(false)
    }
    for (const changed of [signature.subarray(1), signature.subarray(0, -1), Buffer.concat([signature, signature])]) {
      expect(await isAccepted(changed)).toBe(false)
    }
    for (const length of [1, 63, 65, 96, 128].filter((each) => each !== signature.length)) {
      expect(await isAccepted(Buffer.alloc(length, 1))).toBe(false)
    }
  })

  test('is refused under the key of every other algorithm', async () => {
    const token = await signJws({}, payload, signer(alg))
    for (const other of ALGORITHMS.filter((name) => name !== alg)) {
      expect(await verifyJws(parsedJws(token), verifier(other))).toBe(false)
      expect(await verifyJws(parsedJws(token), verifier(other, alg))).toBe(false)
      expect(await verifyJws(parsedJws(token), verifier(alg, other))).toBe(false)
    }
  })
})

test.each([
  { alg: 'ES256' as const, bytes: 64, rounds: 600 },
  { alg: 'ES384' as const, bytes: 96, rounds: 100 },
])('each of $rounds $alg signatures has $bytes bytes and verifies', async ({ alg, bytes, rounds }) => {
  for (let round = 0; round < rounds; round++) {
    const token = await signJws({}, { round }, signer(alg))
    expect(Buffer.from(token.split('.')[2] ?? '', 'base64url')).toHaveLength(bytes)
    expect(await verifyJws(parsedJws(token), verifier(alg))).toBe(true)
  }
})

test.each(['ES256', 'ES384'] as const)('%s: a signature in DER is refused', async (alg) => {
  const token = await signJws({}, payload, signer(alg))
  const input = token.slice(0, token.lastIndexOf('.'))
  const key = createPrivateKey({ key: jwks.get(alg) ?? {}, format: 'jwk' })
  const der = sign(alg === 'ES256' ? 'sha256' : 'sha384', Buffer.from(input), key)
  expect(await verifyJws(parsedJws(`${input}.${der.toString('base64url')}`), verifier(alg))).toBe(false)
})

/** A token of these texts with a valid signature, so that only its form can be wrong. */
function tokenOf(header: string, body = '{}'): Promise<string> {
  return rawJws(header, body, signer('EdDSA'))
}

function parsedJws(token: string) {
  const parsed = parseJws(token, 16_384)
  if (!parsed) throw new Error('the token was expected to parse')
  return parsed
}

test.each(['none', 'None', 'NONE', 'HS512', 'RS256', ''])(
  'row 40: alg %j in the header of a token is refused',
  async (alg) => {
    const token = await tokenOf(JSON.stringify({ alg }))
    expect(await verifyJws(parsedJws(token), verifier('EdDSA'))).toBe(false)
  },
)

test('row 40: a token that takes the public key for an HMAC secret is refused', async () => {
  const { publicKey } = keysOf('RS256')
  const pem = createSecretKey(Buffer.from(await exportSPKI(publicKey)))
  const token = await signJws({}, payload, signerFor('HS512', pem))
  expect(await verifyJws(parsedJws(token), verifierFor('RS256', publicKey))).toBe(false)
  expect(await verifyJws(parsedJws(token), verifierFor('HS512', publicKey))).toBe(false)
  await expect(signJws({}, payload, signerFor('HS512', publicKey))).rejects.toThrow(TypeError)
})

test.each(ALGORITHMS)('%s: a key of another algorithm, and a public key, cannot sign', async (alg) => {
  for (const other of ALGORITHMS.filter((name) => name !== alg)) {
    // RS256 and PS256 use the same keys.
    if (keyTypeOf(other) === keyTypeOf(alg)) continue
    await expect(signJws({}, payload, signerFor(alg, keysOf(other).privateKey)), other).rejects.toThrow()
  }
  if (alg === 'HS512') return
  const { d: _, ...publicJwk } = jwks.get(alg) ?? {}
  const publicKey = createPublicKey({ key: publicJwk, format: 'jwk' })
  await expect(signJws({}, payload, signerFor(alg, publicKey))).rejects.toThrow()
})

function keyTypeOf(alg: JwsAlgorithm): string {
  const { kty, crv } = alg === 'HS512' ? { kty: 'oct' } : { crv: undefined, ...jwks.get(alg) }
  return `${kty} ${crv}`
}

test('a key on another curve than its algorithm neither signs nor verifies', async () => {
  const { privateKey, publicKey } = keysOf('ES384')
  await expect(signJws({}, payload, signerFor('ES256', privateKey))).rejects.toThrow(TypeError)
  // SHA-256 over P-384: a signature that exists, but not in JWS.
  const input = (await signJws({}, payload, signer('ES384'))).split('.').slice(0, 2).join('.')
  const signature = sign('sha256', Buffer.from(input), { key: privateKey as KeyObject, dsaEncoding: 'ieee-p1363' })
  const token = `${input}.${signature.toString('base64url')}`
  expect(await verifyJws(parsedJws(token), verifierFor('ES384', publicKey))).toBe(false)
})

test.each([
  ['alg missing', '{}'],
  ['alg not a text', '{"alg":1}'],
  ['alg null', '{"alg":null}'],
  ['crit', '{"alg":"EdDSA","crit":["exp"]}'],
  ['b64', '{"alg":"EdDSA","b64":false}'],
  ['b64 and crit', '{"alg":"EdDSA","b64":false,"crit":["b64"]}'],
  ['typ not a text', '{"alg":"EdDSA","typ":1}'],
  ['a header that is a list', '["alg"]'],
  ['a header that is null', 'null'],
  ['a member twice', '{"alg":"EdDSA","alg":"EdDSA"}'],
  ['a member twice, once escaped', '{"alg":"EdDSA","\\u0061lg":"none"}'],
  ['__proto__', '{"alg":"EdDSA","__proto__":{"kid":"x"}}'],
  ['deep nesting', `{"alg":"EdDSA","x":${'['.repeat(50)}${']'.repeat(50)}}`],
])('row 40: a header with %s is refused', async (_, header) => {
  expect(parseJws(await tokenOf(header), 16_384)).toBeUndefined()
})

test.each([1, null, '', 'x'.repeat(129), 'x'.repeat(10_000), ['a'], {}])(
  'row 41: kid %.20j is refused',
  async (kid) => {
    expect(parseJws(await tokenOf(JSON.stringify({ alg: 'EdDSA', kid })), 65_536)).toBeUndefined()
  },
)

test.each(['../../x', `' or 1=1--`, '__proto__', 'constructor'])('row 41: kid %s is only a text', async (kid) => {
  expect(parsedJws(await tokenOf(JSON.stringify({ alg: 'EdDSA', kid }))).header.kid).toBe(kid)
})

test('row 42: keys in the header of a token are ignored', async () => {
  const { jwk } = await generateSigningKey('EdDSA', START)
  const attacker = await importSigningJwk(jwk, 'EdDSA', 'test')
  const { d: _d, ...publicJwk } = jwk
  const header = {
    alg: 'EdDSA' as const,
    jwk: publicJwk,
    jku: 'http://127.0.0.1:1/keys',
    x5u: 'http://127.0.0.1:1/cert',
  }
  const token = await rawJws(header, payload, { alg: 'EdDSA', key: attacker.privateKey })
  expect(await verifyJws(parsedJws(token), verifier('EdDSA'))).toBe(false)
})

test('row 43: a token in any but the one compact form is refused', async () => {
  const token = await tokenOf('{"alg":"EdDSA"}', '{"a":1}')
  const [header = '', body = '', signature = ''] = token.split('.')
  expect(await verifyJws(parsedJws(token), verifier('EdDSA'))).toBe(true)
  const variants = [
    '',
    '.',
    '..',
    `${header}.${body}`,
    `${header}.${body}.`,
    `${header}..${signature}`,
    `.${body}.${signature}`,
    `${token}.`,
    `${token}.${signature}`,
    `.${token}`,
    `${token}=`,
    `${token}==`,
    `${header}=.${body}.${signature}`,
    ` ${token}`,
    `${token} `,
    `${token}\n`,
    `${header}.${body}. ${signature}`,
    `${header}\u200b.${body}.${signature}`,
    `${header}.${body}.${signature}é`,
    `${header}.${body}.${signature.slice(0, -1)}+`,
    token.replaceAll('.', '\u3002'),
  ]
  for (const variant of variants) expect(parseJws(variant, 16_384), variant).toBeUndefined()
})

test('row 43: left-over bits of base64url may not be set', async () => {
  const token = await tokenOf('{"alg":"EdDSA"}', '{"a":1}')
  // 64 bytes leave 4 unused bits in the last character: 15 other texts decode to the same signature.
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const decodable = alphabet.split('').filter((last) => parseJws(token.slice(0, -1) + last, 16_384) !== undefined)
  expect(decodable).toEqual(['A', 'Q', 'g', 'w'])
})

test('refuses a token over the limit, and a payload that is no object or not UTF-8', async () => {
  const token = await tokenOf('{"alg":"EdDSA"}')
  expect(parseJws(token, token.length)).toBeDefined()
  expect(parseJws(token, token.length - 1)).toBeUndefined()
  for (const body of ['', '1', '"a"', 'null', '[]', '{"a":1,"a":2}', '{"a":1e400', '\ufeff{}']) {
    expect(parseJws(await tokenOf('{"alg":"EdDSA"}', body), 16_384), body).toBeUndefined()
  }
  const [header, , signature] = token.split('.')
  expect(
    parseJws(`${header}.${Buffer.from([0x7b, 0xff, 0x7d]).toString('base64url')}.${signature}`, 999),
  ).toBeUndefined()
})

async function publicKey(jwk: JWK, alg: SigningAlgorithm) {
  const key = await importJWK(jwk, alg)
  if (key instanceof Uint8Array) throw new Error('expected a public key')
  return { alg, key }
}

test('verifies the RS256 example of RFC 7515 appendix A.2', async () => {
  const n =
    'ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZ' +
    'S-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2' +
    'R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcD' +
    'TW9gb54h4FRWyuXpoQ'
  const token =
    'eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0' +
    'cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJ' +
    'dbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383Lc' +
    'OLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtV' +
    'rBp0igcN_IoypGlUPQGe77Rw'
  const key = await publicKey({ kty: 'RSA', n, e: 'AQAB' }, 'RS256')
  expect(await verifyJws(parsedJws(token), key)).toBe(true)
  expect(parsedJws(token).payload.iss).toBe('joe')
})

test('verifies the ES256 example of RFC 7515 appendix A.3', async () => {
  const token =
    'eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0' +
    'cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q'
  const key = await publicKey(
    {
      kty: 'EC',
      crv: 'P-256',
      x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
      y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
    },
    'ES256',
  )
  expect(await verifyJws(parsedJws(token), key)).toBe(true)
})

test('makes and verifies the Ed25519 example of RFC 8037 appendix A.4', async () => {
  const jwk = {
    kty: 'OKP',
    crv: 'Ed25519',
    d: 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A',
    x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
  }
  const pair = await importSigningJwk(jwk, 'EdDSA', 'test')
  const token = await rawJws('{"alg":"EdDSA"}', 'Example of Ed25519 signing', { alg: 'EdDSA', key: pair.privateKey })
  expect(token).toBe(
    'eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.' +
      'hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg',
  )
  const signed = await new CompactSign(Buffer.from('Example of Ed25519 signing'))
    .setProtectedHeader({ alg: 'EdDSA' })
    .sign(pair.privateKey)
  expect(signed).toBe(token)
  expect(await verifyJws({ token, header: { alg: 'EdDSA' }, payload: {} }, { alg: 'EdDSA', key: pair.publicKey })).toBe(
    true,
  )
})

describe('the kid of a signing key', () => {
  test('is the thumbprint of RFC 7638 section 3.1', async () => {
    const n =
      '0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3' +
      'oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdA' +
      'ZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-' +
      'kEgU8awapJzKnqDKgw'
    const jwk = { kty: 'RSA', n, e: 'AQAB', alg: 'RS256', kid: '2011-04-29' }
    expect(await calculateJwkThumbprint(jwk)).toBe('NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs')
  })

  test('is the thumbprint of RFC 8037 appendix A.3', async () => {
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }
    expect(await calculateJwkThumbprint(jwk)).toBe('kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k')
  })

  test.each(SIGNING_ALGORITHMS)('is the thumbprint of the public key of a new %s key', async (alg) => {
    const { kid, jwk } = await generateSigningKey(alg, START)
    expect(kid).toBe(await calculateJwkThumbprint(jwk))
  })
})
