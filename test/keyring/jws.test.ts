import { createPublicKey, createSecretKey, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'
import { compactVerify, CompactSign } from 'jose'
import { beforeAll, describe, expect, test } from 'vitest'
import { SIGNING_ALGORITHMS, type JwsAlgorithm } from '../../keyring/algorithms.ts'
import { derToRaw } from '../../keyring/ecdsa_signature.ts'
import { generateSigningKey } from '../../keyring/generate.ts'
import { parseJws, signJws, verifyJws } from '../../keyring/jws.ts'
import { importPrivateJwk } from '../../keyring/private_jwk.ts'
import { signBytes, verifyBytes } from '../../keyring/signature.ts'
import { START } from './sample_keyring.ts'

const ALGORITHMS: JwsAlgorithm[] = [...SIGNING_ALGORITHMS, 'HS512']
const keys = new Map<JwsAlgorithm, { privateKey: KeyObject; publicKey: KeyObject }>()

beforeAll(async () => {
  for (const alg of SIGNING_ALGORITHMS) {
    const { jwk } = await generateSigningKey(alg, START)
    keys.set(alg, importPrivateJwk(jwk, alg, 'test'))
  }
  const secret = createSecretKey(randomBytes(64))
  keys.set('HS512', { privateKey: secret, publicKey: secret })
})

function keysOf(alg: JwsAlgorithm) {
  const pair = keys.get(alg)
  if (!pair) throw new Error(`no key for ${alg}`)
  return pair
}

const payload = { sub: 'alice', name: 'žluťoučký 🐎', n: 1, list: [{ a: 1 }, { a: 2 }] }

describe.each(ALGORITHMS)('%s', (alg) => {
  test('is verified by jose when we sign', async () => {
    const token = signJws({ alg, kid: 'k1', typ: 'at+jwt' }, payload, keysOf(alg).privateKey)
    const { payload: bytes, protectedHeader } = await compactVerify(token, keysOf(alg).publicKey, { algorithms: [alg] })
    expect(JSON.parse(Buffer.from(bytes).toString('utf8'))).toEqual(payload)
    expect(protectedHeader).toEqual({ alg, kid: 'k1', typ: 'at+jwt' })
  })

  test('is verified by us when jose signs', async () => {
    const token = await new CompactSign(Buffer.from(JSON.stringify(payload)))
      .setProtectedHeader({ alg, kid: 'k1' })
      .sign(keysOf(alg).privateKey)
    const parsed = parsedJws(token)
    expect(parsed.payload).toEqual(payload)
    expect(verifyJws(parsed, alg, keysOf(alg).publicKey)).toBe(true)
  })

  test('is refused with any byte of the signature changed, cut or added', () => {
    const token = signJws({ alg }, payload, keysOf(alg).privateKey)
    const { signature } = parsedJws(token)
    for (let at = 0; at < signature.length; at++) {
      const changed = Buffer.from(signature)
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
      expect(verifyJws({ ...parsedJws(token), signature: changed }, alg, keysOf(alg).publicKey)).toBe(false)
    }
    for (const changed of [signature.subarray(1), signature.subarray(0, -1), Buffer.concat([signature, signature])]) {
      expect(verifyJws({ ...parsedJws(token), signature: changed }, alg, keysOf(alg).publicKey)).toBe(false)
    }
  })

  test('is refused under the key of every other algorithm, whatever the header says', () => {
    const token = signJws({ alg }, payload, keysOf(alg).privateKey)
    for (const other of ALGORITHMS.filter((name) => name !== alg)) {
      expect(verifyJws(parsedJws(token), other, keysOf(other).publicKey)).toBe(false)
      expect(verifyJws(parsedJws(token), other, keysOf(alg).publicKey)).toBe(false)
      expect(verifyJws(parsedJws(token), alg, keysOf(other).publicKey)).toBe(false)
    }
  })
})

/** A token made of texts as they are, signed so that only its form can be wrong. */
function tokenOf(header: string, body = '{}'): string {
  const input = `${Buffer.from(header).toString('base64url')}.${Buffer.from(body).toString('base64url')}`
  return `${input}.${signBytes('EdDSA', keysOf('EdDSA').privateKey, Buffer.from(input)).toString('base64url')}`
}

function parsedJws(token: string) {
  const parsed = parseJws(token, 16_384)
  if (!parsed) throw new Error('the token was expected to parse')
  return parsed
}

test.each(['none', 'None', 'NONE', 'HS512', 'RS256', ''])(
  'row 40: alg %j in the header of a token is refused',
  (alg) => {
    const token = tokenOf(JSON.stringify({ alg }))
    expect(verifyJws(parsedJws(token), 'EdDSA', keysOf('EdDSA').publicKey)).toBe(false)
  },
)

test('row 40: a token that takes the public key for an HMAC secret is refused', () => {
  const { publicKey } = keysOf('RS256')
  const pem = createSecretKey(Buffer.from(publicKey.export({ format: 'pem', type: 'spki' })))
  const token = signJws({ alg: 'HS512' }, payload, pem)
  expect(verifyJws(parsedJws(token), 'RS256', publicKey)).toBe(false)
  expect(verifyJws(parsedJws(token), 'HS512', publicKey)).toBe(false)
  expect(() => signJws({ alg: 'HS512' }, payload, publicKey)).toThrow('cannot sign')
})

test('a key on another curve than its algorithm neither signs nor verifies', () => {
  const { privateKey, publicKey } = keysOf('ES384')
  expect(() => signBytes('ES256', privateKey, Buffer.from('a'))).toThrow('cannot sign with ES256')
  // SHA-256 over P-384: a signature that exists, but not in JWS.
  const der = sign('sha256', Buffer.from('a'), privateKey)
  expect(verifyBytes('ES384', publicKey, Buffer.from('a'), derToRaw(der, 48))).toBe(false)
})

test.each([
  ['alg missing', '{}'],
  ['alg not a text', '{"alg":1}'],
  ['alg null', '{"alg":null}'],
  ['crit', '{"alg":"EdDSA","crit":["exp"]}'],
  ['b64', '{"alg":"EdDSA","b64":false}'],
  ['typ not a text', '{"alg":"EdDSA","typ":1}'],
  ['a header that is a list', '["alg"]'],
  ['a header that is null', 'null'],
  ['a member twice', '{"alg":"EdDSA","alg":"EdDSA"}'],
  ['a member twice, once escaped', '{"alg":"EdDSA","\\u0061lg":"none"}'],
  ['__proto__', '{"alg":"EdDSA","__proto__":{"kid":"x"}}'],
  ['deep nesting', `{"alg":"EdDSA","x":${'['.repeat(50)}${']'.repeat(50)}}`],
])('row 40: a header with %s is refused', (_, header) => {
  expect(parseJws(tokenOf(header), 16_384)).toBeUndefined()
})

test.each([1, null, '', 'x'.repeat(129), 'x'.repeat(10_000), ['a'], {}])('row 41: kid %.20j is refused', (kid) => {
  expect(parseJws(tokenOf(JSON.stringify({ alg: 'EdDSA', kid })), 65_536)).toBeUndefined()
})

test.each(['../../x', `' or 1=1--`, '__proto__', 'constructor'])('row 41: kid %s is only a text', (kid) => {
  expect(parsedJws(tokenOf(JSON.stringify({ alg: 'EdDSA', kid }))).header.kid).toBe(kid)
})

test('row 42: keys in the header of a token are not looked at', () => {
  const stranger = generateKeyPairSync('ed25519')
  const header = {
    alg: 'EdDSA' as const,
    jwk: createPublicKey(stranger.privateKey).export({ format: 'jwk' }),
    jku: 'http://127.0.0.1:1/keys',
    x5u: 'http://127.0.0.1:1/cert',
  }
  const token = signJws(header, payload, stranger.privateKey)
  expect(verifyJws(parsedJws(token), 'EdDSA', keysOf('EdDSA').publicKey)).toBe(false)
})

test('row 43: a token in any but the one compact form is refused', () => {
  const token = tokenOf('{"alg":"EdDSA"}', '{"a":1}')
  const [header = '', body = '', signature = ''] = token.split('.')
  expect(verifyJws(parsedJws(token), 'EdDSA', keysOf('EdDSA').publicKey)).toBe(true)
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

test('row 43: left-over bits of base64url may not be set', () => {
  const token = tokenOf('{"alg":"EdDSA"}', '{"a":1}')
  // 64 bytes leave 4 unused bits in the last character: 15 other texts decode to the same signature.
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const decodable = alphabet.split('').filter((last) => parseJws(token.slice(0, -1) + last, 16_384) !== undefined)
  expect(decodable).toEqual(['A', 'Q', 'g', 'w'])
})

test('refuses a token over the limit, and a payload that is no object or not UTF-8', () => {
  const token = tokenOf('{"alg":"EdDSA"}')
  expect(parseJws(token, token.length)).toBeDefined()
  expect(parseJws(token, token.length - 1)).toBeUndefined()
  for (const body of ['', '1', '"a"', 'null', '[]', '{"a":1,"a":2}', '{"a":1e400', '\ufeff{}']) {
    expect(parseJws(tokenOf('{"alg":"EdDSA"}', body), 16_384), body).toBeUndefined()
  }
  const [header, , signature] = token.split('.')
  expect(
    parseJws(`${header}.${Buffer.from([0x7b, 0xff, 0x7d]).toString('base64url')}.${signature}`, 999),
  ).toBeUndefined()
})

test('verifies the RS256 example of RFC 7515 appendix A.2', () => {
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
  const key = createPublicKey({ key: { kty: 'RSA', n, e: 'AQAB' }, format: 'jwk' })
  expect(verifyJws(parsedJws(token), 'RS256', key)).toBe(true)
  expect(parsedJws(token).payload.iss).toBe('joe')
})

test('verifies the ES256 example of RFC 7515 appendix A.3', () => {
  const token =
    'eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0' +
    'cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q'
  const key = createPublicKey({
    key: {
      kty: 'EC',
      crv: 'P-256',
      x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
      y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
    },
    format: 'jwk',
  })
  expect(verifyJws(parsedJws(token), 'ES256', key)).toBe(true)
})

test('makes and verifies the Ed25519 example of RFC 8037 appendix A.4', () => {
  const jwk = {
    kty: 'OKP',
    crv: 'Ed25519',
    d: 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A',
    x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
  }
  const { privateKey, publicKey } = importPrivateJwk(jwk, 'EdDSA', 'test')
  const input = Buffer.from('eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc')
  const signature = signBytes('EdDSA', privateKey, input)
  expect(signature.toString('base64url')).toBe(
    'hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg',
  )
  expect(verifyBytes('EdDSA', publicKey, input, signature)).toBe(true)
})
