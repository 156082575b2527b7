import { createPrivateKey, createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { KEY_SHAPES, type SigningAlgorithm } from './algorithms.ts'
import { decodeBase64url } from './base64url.ts'
import { KeyringError } from './keyring_error.ts'
import { readObject } from './members.ts'
import { signBytes, verifyBytes } from './signature.ts'
import { isJsonObject } from './strict_json.ts'
import { jwkThumbprint } from './thumbprint.ts'

/** A JWK with its private members: `kty`, `crv` and key material, nothing else (RFC 7518 section 6, RFC 8037). */
export type PrivateJwk = JsonWebKey

const MIN_RSA_BITS = 2048
const MAX_RSA_BITS = 8192
const MIN_RSA_EXPONENT = 65537n
const PROBE = Buffer.from('rk.probe.v1')

/**
 * Reads a private JWK for one algorithm and proves that it is whole: its public members are what the kid names, and
 * they verify what its private members sign. (OpenSSL ignores a wrong `x` of an Ed25519 key and a wrong `d` of an RSA
 * key until the first signature that nobody can verify.)
 * @throws KeyringError for another key type or curve, a weak or broken key, a kid that is not the RFC 7638 thumbprint
 */
export function readPrivateJwk(value: unknown, where: string, alg: SigningAlgorithm, kid: string): PrivateJwk {
  const shape = KEY_SHAPES[alg]
  const needed = ['kty', ...(shape.crv ? ['crv'] : []), ...shape.publicMembers, ...shape.privateMembers]
  if (isJsonObject(value) && value.kty !== shape.kty) {
    throw new KeyringError(`${where}.jwk is not of the type ${shape.kty} that ${alg} needs`)
  }
  const members = readObject(value, `${where}.jwk`, needed, ['kid', 'alg', 'use'])
  if (shape.crv && members.crv !== shape.crv) throw new KeyringError(`${where}.jwk is not on the curve ${shape.crv}`)
  const jwk: PrivateJwk = { kty: shape.kty, ...(shape.crv && { crv: shape.crv }) }
  for (const name of [...shape.publicMembers, ...shape.privateMembers]) {
    jwk[name] = readNumber(members[name], `${where}.jwk.${name}`, shape.memberBytes)
  }
  if ((members.kid ?? kid) !== kid || jwkThumbprint(jwk) !== kid) {
    throw new KeyringError(`${where}.kid is not the RFC 7638 thumbprint of its key`)
  }
  if ((members.alg ?? alg) !== alg) throw new KeyringError(`${where}.jwk.alg is not ${alg}`)
  if ((members.use ?? 'sig') !== 'sig') throw new KeyringError(`${where}.jwk.use is not sig`)

  const { privateKey, publicKey } = importPrivateJwk(jwk, alg, where)
  if (shape.kty === 'RSA') checkRsaStrength(publicKey, where)
  if (!provesItself(alg, privateKey, publicKey)) {
    throw new KeyringError(`${where}.jwk is damaged: its public part does not verify what its private part signs`)
  }
  return jwk
}

/** Both halves as KeyObjects, the public one from the public members alone. */
export function importPrivateJwk(jwk: PrivateJwk, alg: SigningAlgorithm, where: string) {
  try {
    return {
      privateKey: createPrivateKey({ key: jwk, format: 'jwk' }),
      publicKey: createPublicKey({ key: publicMembers(jwk, alg), format: 'jwk' }),
    }
  } catch {
    throw new KeyringError(`${where}.jwk is not a usable ${alg} key`)
  }
}

/** The public members and `kty`, by a list of what may leave, so that nothing else ever does. */
export function publicMembers(jwk: PrivateJwk, alg: SigningAlgorithm): JsonWebKey {
  const shape = KEY_SHAPES[alg]
  const members: JsonWebKey = { kty: shape.kty }
  if (shape.crv) members.crv = shape.crv
  for (const name of shape.publicMembers) members[name] = jwk[name]
  return members
}

/** A number of a JWK, in the one text it may have: with two, one key would have two thumbprints. */
function readNumber(value: unknown, where: string, exactBytes: number | undefined): string {
  const bytes = typeof value === 'string' && value.length <= 1400 ? decodeBase64url(value) : undefined
  if (typeof value !== 'string' || !bytes || bytes.length === 0) throw new KeyringError(`${where} is not base64url`)
  if (exactBytes !== undefined && bytes.length !== exactBytes) {
    throw new KeyringError(`${where} is not ${exactBytes} bytes`)
  }
  if (exactBytes === undefined && bytes[0] === 0) throw new KeyringError(`${where} has leading zero bytes`)
  return value
}

function checkRsaStrength(publicKey: KeyObject, where: string): void {
  const bits = publicKey.asymmetricKeyDetails?.modulusLength ?? 0
  if (bits < MIN_RSA_BITS || bits > MAX_RSA_BITS) {
    throw new KeyringError(`${where}.jwk is an RSA key outside ${MIN_RSA_BITS} to ${MAX_RSA_BITS} bits`)
  }
  if ((publicKey.asymmetricKeyDetails?.publicExponent ?? 0n) < MIN_RSA_EXPONENT) {
    throw new KeyringError(`${where}.jwk has a public exponent below ${MIN_RSA_EXPONENT}`)
  }
}

function provesItself(alg: SigningAlgorithm, privateKey: KeyObject, publicKey: KeyObject): boolean {
  try {
    return verifyBytes(alg, publicKey, PROBE, signBytes(alg, privateKey, PROBE))
  } catch {
    return false
  }
}
