import { KeyObject } from 'node:crypto'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type CryptoKey, type JWK } from 'jose'
import { parseJws, signJws, verifyJws, type SigningAlgorithm } from './jws.ts'
import { KeyringError, readObject } from './members.ts'
import { decodeBase64url, isJsonObject } from './strict_parsing.ts'

/** A JWK with its private members: `kty`, `crv` and key material, nothing else (RFC 7518 section 6, RFC 8037). */
export type PrivateJwk = JWK

/** The members of a JWK of one algorithm (RFC 7518 section 6, RFC 8037 section 2). */
export interface KeyShape {
  kty: 'RSA' | 'EC' | 'OKP'
  crv?: 'P-256' | 'P-384' | 'Ed25519'
  publicMembers: readonly NumberMember[]
  privateMembers: readonly NumberMember[]
  /** Bytes of each coordinate and of the private scalar; RSA has no fixed one. */
  memberBytes?: number
}

type NumberMember = 'n' | 'e' | 'x' | 'y' | 'd' | 'p' | 'q' | 'dp' | 'dq' | 'qi'

const RSA: KeyShape = {
  kty: 'RSA',
  publicMembers: ['n', 'e'],
  privateMembers: ['d', 'p', 'q', 'dp', 'dq', 'qi'],
}

export const KEY_SHAPES: Readonly<Record<SigningAlgorithm, KeyShape>> = {
  RS256: RSA,
  PS256: RSA,
  ES256: { kty: 'EC', crv: 'P-256', publicMembers: ['x', 'y'], privateMembers: ['d'], memberBytes: 32 },
  ES384: { kty: 'EC', crv: 'P-384', publicMembers: ['x', 'y'], privateMembers: ['d'], memberBytes: 48 },
  EdDSA: { kty: 'OKP', crv: 'Ed25519', publicMembers: ['x'], privateMembers: ['d'], memberBytes: 32 },
}

const NEW_RSA_BITS = 2048
const MIN_RSA_BITS = 2048
const MAX_RSA_BITS = 8192
const MIN_RSA_EXPONENT = 65537n
const MAX_NUMBER_LENGTH = 1400

/** A new private JWK and its kid, the RFC 7638 thumbprint. An RSA key takes some 100 ms, off the event loop. */
export async function generatePrivateJwk(alg: SigningAlgorithm): Promise<{ kid: string; jwk: PrivateJwk }> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true, modulusLength: NEW_RSA_BITS })
  const jwk = await exportJWK(privateKey)
  return { kid: await calculateJwkThumbprint(jwk), jwk }
}

/**
 * Reads a private JWK for one algorithm and proves that it is whole: its public members have the thumbprint that is
 * the kid, and they verify what its private members sign. (OpenSSL ignores a wrong `x` of an Ed25519 key and a wrong
 * `d` of an RSA key until a signature fails to verify.)
 * @throws KeyringError for another key type or curve, a weak or broken key, a kid that is not the RFC 7638 thumbprint
 */
export async function readPrivateJwk(
  value: unknown,
  where: string,
  alg: SigningAlgorithm,
  kid: string,
): Promise<PrivateJwk> {
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
  if ((members.kid ?? kid) !== kid || (await calculateJwkThumbprint(jwk)) !== kid) {
    throw new KeyringError(`${where}.kid is not the RFC 7638 thumbprint of its key`)
  }
  if ((members.alg ?? alg) !== alg) throw new KeyringError(`${where}.jwk.alg is not ${alg}`)
  if ((members.use ?? 'sig') !== 'sig') throw new KeyringError(`${where}.jwk.use is not sig`)
  if (shape.kty === 'RSA') checkRsaStrength(jwk, where)

  const keys = await importSigningJwk(jwk, alg, where)
  if (!(await verifiesItself(alg, keys))) {
    throw new KeyringError(`${where}.jwk is damaged: its public part does not verify what its private part signs`)
  }
  return jwk
}

/** Both halves of a key, the public one from the public members alone. @throws KeyringError when they cannot be imported */
export async function importSigningJwk(
  jwk: PrivateJwk,
  alg: SigningAlgorithm,
  where: string,
): Promise<{ privateKey: KeyObject; publicKey: CryptoKey }> {
  try {
    const [privateKey, publicKey] = await Promise.all([
      importPrivateJwk(jwk, alg),
      importKey(publicMembers(jwk, alg), alg),
    ])
    return { privateKey, publicKey }
  } catch {
    throw new KeyringError(`${where}.jwk is not a usable ${alg} key`)
  }
}

/** The public members and `kty`, by a list of what may leave, so that no other member ever does. */
export function publicMembers(jwk: PrivateJwk, alg: SigningAlgorithm): JWK {
  const shape = KEY_SHAPES[alg]
  const members: JWK = { kty: shape.kty }
  if (shape.crv) members.crv = shape.crv
  for (const name of shape.publicMembers) members[name] = jwk[name] ?? ''
  return members
}

/** A private JWK for `signJws`. @throws Error when it cannot be imported */
export async function importPrivateJwk(jwk: JWK, alg: SigningAlgorithm): Promise<KeyObject> {
  return KeyObject.from(await importKey(jwk, alg, { extractable: true }))
}

async function importKey(jwk: JWK, alg: SigningAlgorithm, options?: { extractable: boolean }): Promise<CryptoKey> {
  const key = await importJWK(jwk, alg, options)
  if (key instanceof Uint8Array) throw new TypeError('a symmetric key')
  return key
}

/** A number of a JWK in its one canonical text: with two texts, one key would have two thumbprints. */
function readNumber(value: unknown, where: string, exactBytes: number | undefined): string {
  const isShort = typeof value === 'string' && value.length <= MAX_NUMBER_LENGTH
  const bytes = isShort ? decodeBase64url(value) : undefined
  if (!isShort || !bytes || bytes.length === 0) throw new KeyringError(`${where} is not base64url`)
  if (exactBytes !== undefined && bytes.length !== exactBytes) {
    throw new KeyringError(`${where} is not ${exactBytes} bytes`)
  }
  if (exactBytes === undefined && bytes[0] === 0) throw new KeyringError(`${where} has leading zero bytes`)
  return value
}

function checkRsaStrength({ n = '', e = '' }: PrivateJwk, where: string): void {
  const bits = numberOf(n).toString(2).length
  if (bits < MIN_RSA_BITS || bits > MAX_RSA_BITS) {
    throw new KeyringError(`${where}.jwk is an RSA key outside ${MIN_RSA_BITS} to ${MAX_RSA_BITS} bits`)
  }
  if (numberOf(e) < MIN_RSA_EXPONENT) {
    throw new KeyringError(`${where}.jwk has a public exponent below ${MIN_RSA_EXPONENT}`)
  }
}

function numberOf(base64url: string): bigint {
  return BigInt(`0x${Buffer.from(base64url, 'base64url').toString('hex')}`)
}

async function verifiesItself(
  alg: SigningAlgorithm,
  { privateKey, publicKey }: { privateKey: KeyObject; publicKey: CryptoKey },
): Promise<boolean> {
  try {
    const token = await signJws({}, {}, { alg, key: privateKey })
    const parsed = parseJws(token, token.length)
    return parsed !== undefined && (await verifyJws(parsed, { alg, key: publicKey }))
  } catch {
    return false
  }
}
