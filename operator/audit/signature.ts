import { calculateJwkThumbprint, type CryptoKey as PublicKey, type JWK } from 'jose'
import { parseJws, signJws, verifyJws } from '../../keyring/jws.ts'
import { importPrivateJwk } from '../../keyring/signing_jwk.ts'

// A signature of the audit is a compact JWS, EdDSA only, `typ: rk-audit+jwt`, claims number, digest, iat.

const TYP = 'rk-audit+jwt'
const MAX_LENGTH = 2048

/** What the operator signs: all heads of the audit chains, by their digest. */
export interface AuditState {
  /** Counts the signatures of an installation, from 1. 0: nothing was signed yet. */
  number: number
  /** Of all signed heads, hex (`headsDigest`). */
  digest: string
}

/** A state with the claims of its signature, which is not verified yet. */
export interface ClaimedState extends AuditState {
  at: Date
  keyId: string
}

export async function signState({ number, digest }: AuditState, at: Date, privateJwk: JWK): Promise<string> {
  const header = { kid: await calculateJwkThumbprint(privateJwk), typ: TYP }
  const payload = { number, digest, iat: Math.floor(at.getTime() / 1_000) }
  return signJws(header, payload, { alg: 'EdDSA', key: await importPrivateJwk(privateJwk, 'EdDSA') })
}

/** What a signature claims; undefined when it has another form. */
export function readClaimedState(jws: string): ClaimedState | undefined {
  const parsed = parseJws(jws, MAX_LENGTH)
  if (!parsed || parsed.header.alg !== 'EdDSA' || parsed.header.typ !== TYP) return undefined
  const { number, digest, iat } = parsed.payload
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < 1) return undefined
  if (typeof digest !== 'string' || !/^[0-9a-f]{64}$/.test(digest)) return undefined
  if (typeof iat !== 'number' || !(iat > 0 && iat < 8_640_000_000_000)) return undefined
  return { number, digest, at: new Date(iat * 1_000), keyId: parsed.header.kid ?? '' }
}

/** Whether this key made the signature. */
export async function isSignedBy(jws: string, key: PublicKey): Promise<boolean> {
  const parsed = parseJws(jws, MAX_LENGTH)
  return parsed !== undefined && (await verifyJws(parsed, { alg: 'EdDSA', key }))
}
