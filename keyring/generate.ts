import { generateKeyPair, randomBytes, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import type { SigningAlgorithm } from './algorithms.ts'
import { fingerprint } from './fingerprint.ts'
import type { EncryptionKey, RefreshKey, SigningKey } from './keyring.ts'
import { jwkThumbprint } from './thumbprint.ts'

const generatePair = promisify(generateKeyPair)
const RSA_BITS = 2048

/** A new signing key, `pending`. Asynchronous: an RSA key takes some 100 ms, off the event loop. */
export async function generateSigningKey(alg: SigningAlgorithm, now: Date): Promise<SigningKey> {
  const { privateKey } = await GENERATE[alg]()
  const jwk = privateKey.export({ format: 'jwk' })
  return { kid: jwkThumbprint(jwk), alg, state: 'pending', createdAt: now.toISOString(), jwk }
}

/** A new refresh key, `pending`; its kid is the fingerprint of its bytes. `random` stands in for the system's in tests. */
export function generateRefreshKey(now: Date, random: (size: number) => Buffer = randomBytes): RefreshKey {
  const key = random(32)
  return { kid: fingerprint(key), state: 'pending', createdAt: now.toISOString(), key: key.toString('base64url') }
}

/** A new encryption key of this version, `pending`. */
export function generateEncryptionKey(
  version: number,
  now: Date,
  random: (size: number) => Buffer = randomBytes,
): EncryptionKey {
  const key = random(32)
  return {
    version,
    fingerprint: fingerprint(key),
    state: 'pending',
    key: key.toString('base64url'),
    createdAt: now.toISOString(),
  }
}

const GENERATE: Readonly<Record<SigningAlgorithm, () => Promise<{ privateKey: KeyObject }>>> = {
  RS256: () => generatePair('rsa', { modulusLength: RSA_BITS }),
  PS256: () => generatePair('rsa', { modulusLength: RSA_BITS }),
  ES256: () => generatePair('ec', { namedCurve: 'P-256' }),
  ES384: () => generatePair('ec', { namedCurve: 'P-384' }),
  EdDSA: () => generatePair('ed25519'),
}
