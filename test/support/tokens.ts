import { createPublicKey, createHash, verify } from 'node:crypto'
import { parseJws } from '../../keyring/jws.ts'
import type { TestServer } from './server.ts'

/** The payload of a JWS, unverified. */
export function claimsOf(token: string): Record<string, unknown> {
  return parseJws(token, 100_000)?.payload ?? {}
}

export function headerOf(token: string): Record<string, unknown> {
  return parseJws(token, 100_000)?.header ?? {}
}

/** This JWS with other claims and its old signature. */
export function tampered(token: string, change: Record<string, unknown>): string {
  const [header, payload, signature] = token.split('.')
  const changed = { ...JSON.parse(Buffer.from(payload ?? '', 'base64url').toString()), ...change }
  return [header, Buffer.from(JSON.stringify(changed)).toString('base64url'), signature].join('.')
}

/** True when an ES256 token verifies with the key that the JWKS endpoint publishes for its kid. */
export async function verifiesByJwks(server: TestServer, token: string): Promise<boolean> {
  const { body } = await server.request('certs')
  const { kid } = headerOf(token)
  const jwk = body.keys.find((key: { kid: string }) => key.kid === kid)
  const [header, payload, signature] = token.split('.')
  const key = { key: createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' as const }
  return jwk && verify('sha256', Buffer.from(`${header}.${payload}`), key, Buffer.from(signature ?? '', 'base64url'))
}

/** at_hash of an access token for algorithms of SHA-256 (OpenID Connect Core section 3.1.3.6). */
export function atHash(accessToken: string): string {
  return createHash('sha256').update(accessToken).digest().subarray(0, 16).toString('base64url')
}
