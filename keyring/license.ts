import { calculateJwkThumbprint, importJWK, importSPKI, type CryptoKey as PublicKey, type JWK } from 'jose'
import { parseJws, signJws, verifyJws, type ParsedJws } from './jws.ts'
import { generatePrivateJwk, importPrivateJwk, publicMembers } from './signing_jwk.ts'
import { isJsonObject, parseStrictJson } from './strict_parsing.ts'

// A license is a compact JWS, EdDSA only, `typ: rk-license+jwt`, claims iss, realm, features, exp, jti.

/** The feature that a license allows; there is one so far. */
export const FIELD_ENCRYPTION_FEATURE = 'field-encryption'

const TYP = 'rk-license+jwt'
const MAX_LENGTH = 8192
const MAX_TEXT = 255
const MAX_FEATURES = 32
const MAX_EPOCH_SECONDS = 8_640_000_000_000

export interface LicenseClaims {
  issuer: string
  realm: string
  features: readonly string[]
  expiresAt: Date
  jti: string
}

/** A public Ed25519 key: a JWK, the JSON text of one, PEM text, or an imported key. */
export type LicenseKey = JWK | string | PublicKey

export type LicenseRefusal = 'Malformed' | 'UnknownKey' | 'WrongRealm' | 'FeatureMissing' | 'Expired'

/** `message` may be shown in a condition; it holds no piece of the license. */
export type LicenseVerdict =
  | { valid: true; expiresAt: Date; issuer: string; jti: string }
  | { valid: false; reason: LicenseRefusal; message: string; expiresAt?: Date }

/** A configured key cannot issue or verify licenses. The message names no key material. */
export class LicenseKeyError extends Error {
  override readonly name = 'LicenseKeyError'
  /** As PlainError of process/: shown without a stack. */
  readonly plain = true
}

/**
 * Issues a license. The key id in its header is the thumbprint of the key (RFC 7638).
 * @throws LicenseKeyError when the key is no private Ed25519 JWK, RangeError when a claim could not be verified later
 */
export async function issueLicense(claims: LicenseClaims, privateJwk: JWK): Promise<string> {
  const texts = [claims.issuer, claims.realm, claims.jti, ...claims.features]
  if (texts.some((text) => !isText(text)) || claims.features.length < 1 || claims.features.length > MAX_FEATURES) {
    throw new RangeError(`issuer, realm, jti and features are texts of 1 to ${MAX_TEXT} characters, features 1 to 32`)
  }
  const exp = Math.floor(claims.expiresAt.getTime() / 1000)
  if (!isEpochSeconds(exp)) throw new RangeError('expiresAt is not a time after 1970')
  if (privateJwk.kty !== 'OKP' || privateJwk.crv !== 'Ed25519' || typeof privateJwk.d !== 'string') {
    throw new LicenseKeyError('a license is signed with a private Ed25519 JWK (kty OKP, crv Ed25519, x, d)')
  }
  const payload = { iss: claims.issuer, realm: claims.realm, features: [...claims.features], exp, jti: claims.jti }
  const key = await importPrivateJwk(privateJwk, 'EdDSA').catch(() => undefined)
  if (!key) throw new LicenseKeyError('the license signing key is not a usable Ed25519 JWK')
  return signJws({ kid: await calculateJwkThumbprint(privateJwk), typ: TYP }, payload, { alg: 'EdDSA', key })
}

/** A new key pair for licenses. */
export async function generateLicenseKey(): Promise<{ privateJwk: JWK; publicJwk: JWK }> {
  const { jwk } = await generatePrivateJwk('EdDSA')
  return { privateJwk: jwk, publicJwk: publicMembers(jwk, 'EdDSA') }
}

/**
 * Checks a license's signature, realm, feature and time. White space around it is ignored, since it comes from a file.
 * Call it again with the present time: no event reports that a license expires.
 * @param keys every key that this installation trusts
 * @throws LicenseKeyError when one of them is no public Ed25519 key
 */
export async function verifyLicense(
  jws: string,
  keys: readonly LicenseKey[],
  { realm, now, feature = FIELD_ENCRYPTION_FEATURE }: { realm: string; now: Date; feature?: string },
): Promise<LicenseVerdict> {
  const trusted = await Promise.all(keys.map((key) => importLicenseKey(key)))
  // The bound comes first: trimming a very long text takes time.
  const parsed = jws.length > MAX_LENGTH + 16 ? undefined : parseJws(jws.trim(), MAX_LENGTH)
  if (!parsed || parsed.header.alg !== 'EdDSA' || parsed.header.typ !== TYP) {
    return refused(
      'Malformed',
      `the license is not a compact JWS of at most ${MAX_LENGTH} characters, EdDSA, typ ${TYP}`,
    )
  }
  const verified = await Promise.all(trusted.map((key) => verifyJws(parsed, { alg: 'EdDSA', key })))
  if (!verified.includes(true)) {
    return refused('UnknownKey', 'the license was signed by none of the license keys that this installation trusts')
  }
  const claims = readClaims(parsed)
  if (!claims) {
    return refused('Malformed', 'the license lacks one of iss, realm, features, exp, jti, or it has another type')
  }

  const { expiresAt } = claims
  if (claims.realm !== realm) return refused('WrongRealm', `the license is not for the realm "${realm}"`, expiresAt)
  if (!claims.features.includes(feature)) {
    return refused('FeatureMissing', `the license does not name the feature ${feature}`, expiresAt)
  }
  if (expiresAt <= now) return refused('Expired', `the license expired at ${expiresAt.toISOString()}`, expiresAt)
  return { valid: true, expiresAt, issuer: claims.issuer, jti: claims.jti }
}

/**
 * Imports one verification key, so that a configuration can be checked at start.
 * @param what names the key in errors
 * @throws LicenseKeyError for anything but a public Ed25519 key; a private key is refused, because it is misplaced
 */
export async function importLicenseKey(key: LicenseKey, what = 'a license verification key'): Promise<PublicKey> {
  const imported = key instanceof CryptoKey ? key : await importPublic(key, what)
  if (imported.type !== 'public' || imported.algorithm.name !== 'Ed25519') {
    throw new LicenseKeyError(`${what} is not a public Ed25519 key`)
  }
  return imported
}

async function importPublic(key: JWK | string, what: string): Promise<PublicKey> {
  try {
    const isPem = typeof key === 'string' && !key.trimStart().startsWith('{')
    return await (isPem ? importPem(key, what) : importPublicJwk(key, what))
  } catch (error) {
    // Any other error may quote what was configured.
    throw error instanceof LicenseKeyError ? error : new LicenseKeyError(`${what} is neither PEM nor a JWK`)
  }
}

async function importPem(pem: string, what: string): Promise<PublicKey> {
  if (pem.includes('PRIVATE KEY')) throw privateKeyGiven(what)
  return importSPKI(pem.trim(), 'EdDSA')
}

async function importPublicJwk(key: JWK | string, what: string): Promise<PublicKey> {
  const jwk = typeof key === 'string' ? parseStrictJson(key, 2) : key
  if (!isJsonObject(jwk)) throw new TypeError('a JWK is an object')
  if (jwk.d !== undefined) throw privateKeyGiven(what)
  const imported = await importJWK(jwk, 'EdDSA')
  if (imported instanceof Uint8Array) throw new TypeError('a symmetric key')
  return imported
}

function privateKeyGiven(what: string): LicenseKeyError {
  return new LicenseKeyError(`${what} is a private key; configure the public one`)
}

function readClaims({ payload }: ParsedJws): LicenseClaims | undefined {
  const { iss, realm, features, exp, jti } = payload
  if (!isText(iss) || !isText(realm) || !isText(jti) || !isEpochSeconds(exp)) return undefined
  if (!Array.isArray(features) || features.length > MAX_FEATURES || !features.every(isText)) return undefined
  return { issuer: iss, realm, features, expiresAt: new Date(exp * 1000), jti }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length >= 1 && value.length <= MAX_TEXT
}

function isEpochSeconds(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= MAX_EPOCH_SECONDS
}

function refused(reason: LicenseRefusal, message: string, expiresAt?: Date): LicenseVerdict {
  return { valid: false, reason, message, ...(expiresAt && { expiresAt }) }
}
