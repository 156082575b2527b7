import { constants, createHmac, sign, timingSafeEqual, verify, type KeyObject } from 'node:crypto'
import type { JwsAlgorithm, SigningAlgorithm } from './algorithms.ts'
import { derToRaw, rawToDer } from './ecdsa_signature.ts'

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
  const { hash, pss, ecdsaBytes } = SIGNATURES[alg]
  const signature = sign(hash, data, pss ? { key, ...pss } : key)
  return ecdsaBytes ? derToRaw(signature, ecdsaBytes) : signature
}

/** True when the signature is the key's over these bytes. A key of another type or curve is false, never an exception. */
export function verifyBytes(alg: JwsAlgorithm, key: KeyObject, data: Uint8Array, signature: Uint8Array): boolean {
  if (!suits(alg, key)) return false
  if (alg === 'HS512') {
    const expected = createHmac('sha512', key).update(data).digest()
    return signature.length === expected.length && timingSafeEqual(expected, signature)
  }
  const { hash, pss, ecdsaBytes } = SIGNATURES[alg]
  const presented = ecdsaBytes ? rawToDer(signature, ecdsaBytes) : signature
  return presented !== undefined && verify(hash, data, pss ? { key, ...pss } : key, presented)
}

interface Signature {
  keyType: 'rsa' | 'ec' | 'ed25519'
  curve?: 'prime256v1' | 'secp384r1'
  /** Null where the algorithm brings its own. */
  hash: 'sha256' | 'sha384' | null
  pss?: { padding: number; saltLength: number }
  /** Bytes of r and of s. */
  ecdsaBytes?: number
}

// The KeyObject itself where it will do: wrapped in an object with options, Node takes 10 µs more to unwrap it.
const SIGNATURES: Readonly<Record<SigningAlgorithm, Signature>> = {
  RS256: { keyType: 'rsa', hash: 'sha256' },
  // RFC 7518 section 3.5: the salt is as long as the hash; MGF1 uses the same hash, which is OpenSSL's default.
  PS256: { keyType: 'rsa', hash: 'sha256', pss: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 } },
  ES256: { keyType: 'ec', curve: 'prime256v1', hash: 'sha256', ecdsaBytes: 32 },
  ES384: { keyType: 'ec', curve: 'secp384r1', hash: 'sha384', ecdsaBytes: 48 },
  EdDSA: { keyType: 'ed25519', hash: null },
}

/** A public key must never serve as an HMAC secret, nor a P-384 key as ES256. */
function suits(alg: JwsAlgorithm, key: KeyObject): boolean {
  if (alg === 'HS512') return key.type === 'secret'
  const { keyType, curve } = SIGNATURES[alg]
  if (key.type === 'secret' || key.asymmetricKeyType !== keyType) return false
  return curve === undefined || key.asymmetricKeyDetails?.namedCurve === curve
}
