import { createHmac, sign, timingSafeEqual, type KeyObject } from 'node:crypto'
import { CompactSign, compactVerify, errors, type CryptoKey } from 'jose'
import { decodeBase64url, isJsonObject, parseStrictJsonBytes } from './strict_parsing.ts'

/** Signature algorithms a realm may choose (RFC 7518 section 3.1, RFC 8037; EdDSA is Ed25519 only). */
export const SIGNING_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA'] as const
export type SigningAlgorithm = (typeof SIGNING_ALGORITHMS)[number]

/** A private key with the one algorithm that it serves (RFC 8725 section 3.1). */
export interface Signer {
  alg: SigningAlgorithm
  key: KeyObject
}

/** A public key with the one algorithm that it serves. The key was imported once; no call converts it. */
export interface Verifier {
  alg: SigningAlgorithm
  key: CryptoKey
}

/** A secret key of refresh tokens, which only this installation reads. */
export interface HmacKey {
  alg: 'HS512'
  key: KeyObject
}

/** A JOSE header (RFC 7515 section 4). Other members, `jwk`, `jku` and `x5u` among them, are ignored. */
export interface JwsHeader {
  alg: string
  kid?: string
  typ?: string
  [member: string]: unknown
}

/** A well-formed token. Nothing in it is proven before `verifyJws` resolves with true. */
export interface ParsedJws {
  token: string
  header: JwsHeader
  payload: Record<string, unknown>
}

const MAX_KID_LENGTH = 128
const MAX_DEPTH = 8

/**
 * The signatures of some 30 µs. jose computes each on a thread, and the way there and back takes more processor time
 * than the signature does on the event loop (decision 10).
 */
const CHEAP_SIGNATURES: Readonly<Partial<Record<SigningAlgorithm, CheapSignature>>> = {
  ES256: { keyType: 'ec', curve: 'prime256v1', digest: 'sha256' },
  EdDSA: { keyType: 'ed25519', curve: undefined, digest: null },
}

interface CheapSignature {
  keyType: string
  curve: string | undefined
  digest: string | null
}

/**
 * Makes a compact JWS (RFC 7515 section 7.1). RSA and ES384 signatures are computed on a thread of libuv's pool.
 * @throws TypeError or DOMException when the key cannot sign with its algorithm
 */
export async function signJws(
  header: { typ?: string; kid?: string },
  payload: Readonly<Record<string, unknown>>,
  { alg, key }: Signer | HmacKey,
): Promise<string> {
  const protectedHeader = { alg, ...header }
  const cheap = alg === 'HS512' ? undefined : CHEAP_SIGNATURES[alg]
  if (alg !== 'HS512' && !cheap) {
    return new CompactSign(Buffer.from(JSON.stringify(payload), 'utf8')).setProtectedHeader(protectedHeader).sign(key)
  }
  const input = `${encodeObject(protectedHeader)}.${encodeObject(payload)}`
  const signature = cheap ? signOnEventLoop(input, key, cheap) : hmac(input, key)
  return `${input}.${signature.toString('base64url')}`
}

/**
 * Parses a compact JWS more strictly than jose. Undefined unless it is at most `maxLength` characters of exactly three
 * parts in canonical base64url, the first two JSON objects without repeated members. `crit` is refused because no
 * extension is supported (RFC 7515 section 4.1.11), `b64` with it (RFC 7797).
 */
export function parseJws(token: string, maxLength: number): ParsedJws | undefined {
  if (token.length > maxLength) return undefined
  const [headerPart, payloadPart, signaturePart, ...rest] = token.split('.', 4)
  if (!headerPart || !payloadPart || !signaturePart || rest.length > 0) return undefined

  const header = decodeObject(headerPart)
  if (!header || !isUsableHeader(header)) return undefined
  const payload = decodeObject(payloadPart)
  if (!payload || !decodeBase64url(signaturePart)) return undefined
  return { token, header, payload }
}

/**
 * Whether this key signed the token. The algorithm is the key's and the header must name the same one, so that a token
 * cannot choose how it is verified (RFC 8725 section 3.1). A key of another type or curve gives false.
 */
export async function verifyJws({ token, header }: ParsedJws, { alg, key }: Verifier | HmacKey): Promise<boolean> {
  if (header.alg !== alg) return false
  try {
    if (alg === 'HS512') return hasHmac(token, key)
    await compactVerify(token, key, { algorithms: [alg] })
    return true
  } catch (error) {
    // jose throws a TypeError for a key that does not fit the algorithm.
    if (error instanceof errors.JOSEError || error instanceof TypeError) return false
    throw error
  }
}

/**
 * RFC 7518 section 3.4 (r and s, not DER), RFC 8037 section 3.1.
 * @throws TypeError for a public key, or one of another type or curve
 */
function signOnEventLoop(input: string, key: KeyObject, { keyType, curve, digest }: CheapSignature): Buffer {
  if (key.asymmetricKeyType !== keyType || key.asymmetricKeyDetails?.namedCurve !== curve) {
    throw new TypeError(`the key is not one of ${curve ?? keyType}`)
  }
  // Node reads the encoding from the key. From an options object around it, it would first try to read a KeyObject and
  // then a CryptoKey, and each failure costs 10 µs.
  return sign(digest, Buffer.from(input, 'ascii'), Object.assign(key, { dsaEncoding: 'ieee-p1363' }))
}

/**
 * RFC 7518 section 3.2, on the event loop: an HMAC takes 3 µs, and jose's way to a thread and back about 80 µs of
 * processor time on a busy server (decision 10).
 * @throws TypeError when the key is not a secret one
 */
function hmac(input: string, key: KeyObject): Buffer {
  return createHmac('sha512', key).update(input).digest()
}

function hasHmac(token: string, key: KeyObject): boolean {
  const dot = token.lastIndexOf('.')
  const expected = hmac(token.slice(0, dot), key)
  const signature = Buffer.from(token.slice(dot + 1), 'base64url')
  return signature.length === expected.length && timingSafeEqual(signature, expected)
}

function encodeObject(value: object): string {
  return Buffer.from(JSON.stringify(value), 'utf8').toString('base64url')
}

function isUsableHeader(header: Record<string, unknown>): header is JwsHeader {
  if (typeof header.alg !== 'string') return false
  if ('crit' in header || 'b64' in header) return false
  if (header.typ !== undefined && typeof header.typ !== 'string') return false
  if (header.kid === undefined) return true
  return typeof header.kid === 'string' && header.kid.length > 0 && header.kid.length <= MAX_KID_LENGTH
}

function decodeObject(part: string): Record<string, unknown> | undefined {
  const bytes = decodeBase64url(part)
  if (!bytes) return undefined
  try {
    const value = parseStrictJsonBytes(bytes, MAX_DEPTH)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
