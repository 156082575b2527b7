import { calculateJwkThumbprint } from 'jose'
import { expect, test } from 'vitest'
import { SIGNING_ALGORITHMS } from '../../keyring/algorithms.ts'
import { generateSigningKey } from '../../keyring/generate.ts'
import { jwkThumbprint } from '../../keyring/thumbprint.ts'
import { START } from './sample_keyring.ts'

test('gives the thumbprint of RFC 7638 section 3.1', () => {
  const n =
    '0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3' +
    'oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdA' +
    'ZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-' +
    'kEgU8awapJzKnqDKgw'
  const jwk = { kty: 'RSA', n, e: 'AQAB', alg: 'RS256', kid: '2011-04-29' }
  expect(jwkThumbprint(jwk)).toBe('NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs')
})

test('gives the thumbprint of RFC 8037 appendix A.3', () => {
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }
  expect(jwkThumbprint(jwk)).toBe('kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k')
})

test.each(SIGNING_ALGORITHMS)('agrees with jose on a key for %s', async (alg) => {
  const { kid, jwk } = await generateSigningKey(alg, START)
  expect(kid).toBe(await calculateJwkThumbprint(jwk as Parameters<typeof calculateJwkThumbprint>[0]))
})

test.each([{}, { kty: 'oct', k: 'AA' }, { kty: 'constructor' }, { kty: 'EC', crv: 'P-256', x: 'AA' }])(
  'refuses %j',
  (jwk) => {
    expect(() => jwkThumbprint(jwk)).toThrow(TypeError)
  },
)
