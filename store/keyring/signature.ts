import { constants, createHmac, sign, timingSafeEqual, verify, type KeyObject, type SigningOptions } from 'node:crypto'
import type { JwsAlgorithm, SigningAlgorithm } from './algorithms.ts'

/** The key cannot be used with the algorithm. */
export class SignatureKeyError extends Error {
  override readonly name = 'SignatureKeyError'
}

// Synchronous on purpose: WebCrypto and the callback forms share libuv's pool with the password hashes, and a
// verification of 0.1 ms then waits behind hashes of 20 ms.

/**
 * Signs bytes by RFC 7518 section 3 (RFC 8037 for EdDSA).
 * @throws SignatureKeyError when the key is of another type than the algorithm's
 */
export function signBytes(alg: JwsAlgorithm, key: KeyObject, data: Uint8Array): Buffer {
  if (!suits(alg, key)) throw new SignatureKeyError(`the key cannot sign with ${alg}`)
  if (alg === 'HS512') return createHmac('sha512', key).update(data).digest()
  const { hash, options } = SIGNATURES[alg]
  return sign(hash, data, { key, ...options })
}

/** True when the signature is the key's over these bytes. A key of another type or curve is false, never an exception. */
export function verifyBytes(alg: JwsAlgorithm, key: KeyObject, data: Uint8Array, signature: Uint8Array): boolean {
  if (!suits(alg, key)) return false
  if (alg === 'HS512') {
    const expected = createHmac('sha512', key).update(data).digest()
    return signature.length === expected.length && timingSafeEqual(expected, signature)
  }
  const { hash, options } = SIGNATURES[alg]
  return verify(hash, data, { key, ...options }, signature)
}

interface Signature {
  keyType: 'rsa' | 'ec' | 'ed25519'
  curve?: 'prime256v1' | 'secp384r1'
  /** Null where the algorithm brings its own. */
  hash: 'sha256' | 'sha384' | null
  options: SigningOptions
}

const SIGNATURES: Readonly<Record<SigningAlgorithm, Signature>> = {
  RS256: { keyType: 'rsa', hash: 'sha256', options: {} },
  // RFC 7518 section 3.5: the salt is as long as the hash; MGF1 uses the same hash, which is OpenSSL's default.
  PS256: { keyType: 'rsa', hash: 'sha256', options: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 } },
  // RFC 7518 section 3.4: r and s one after the other, not DER.
  ES256: { keyType: 'ec', curve: 'prime256v1', hash: 'sha256', options: { dsaEncoding: 'ieee-p1363' } },
  ES384: { keyType: 'ec', curve: 'secp384r1', hash: 'sha384', options: { dsaEncoding: 'ieee-p1363' } },
  EdDSA: { keyType: 'ed25519', hash: null, options: {} },
}

/** A public key must never serve as an HMAC secret, nor a P-384 key as ES256. */
function suits(alg: JwsAlgorithm, key: KeyObject): boolean {
  if (alg === 'HS512') return key.type === 'secret'
  const { keyType, curve } = SIGNATURES[alg]
  if (key.type === 'secret' || key.asymmetricKeyType !== keyType) return false
  return curve === undefined || key.asymmetricKeyDetails?.namedCurve === curve
}
