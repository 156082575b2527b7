import { randomBytes } from 'node:crypto'
import { fingerprint } from './derivation.ts'
import type { SigningAlgorithm } from './jws.ts'
import type { EncryptionKey, RefreshKey, SigningKey } from './keyring.ts'
import { generatePrivateJwk } from './signing_jwk.ts'

/** A new signing key, `pending`. */
export async function generateSigningKey(alg: SigningAlgorithm, now: Date): Promise<SigningKey> {
  const { kid, jwk } = await generatePrivateJwk(alg)
  return { kid, alg, state: 'pending', createdAt: now.toISOString(), jwk }
}

/** A new refresh key, `pending`; its kid is the fingerprint of its bytes. */
export function generateRefreshKey(now: Date): RefreshKey {
  const key = randomBytes(32)
  return { kid: fingerprint(key), state: 'pending', createdAt: now.toISOString(), key: key.toString('base64url') }
}

/** A new encryption key of this version, `pending`. */
export function generateEncryptionKey(version: number, now: Date): EncryptionKey {
  const key = randomBytes(32)
  return {
    version,
    fingerprint: fingerprint(key),
    state: 'pending',
    key: key.toString('base64url'),
    createdAt: now.toISOString(),
  }
}
