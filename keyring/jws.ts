import type { KeyObject } from 'node:crypto'
import type { JwsAlgorithm } from './algorithms.ts'
import { decodeBase64url } from './base64url.ts'
import { signBytes, verifyBytes } from './signature.ts'
import { isJsonObject, parseStrictJson } from './strict_json.ts'

/** A JOSE header (RFC 7515 section 4). Members beyond these are carried and mean nothing to us, `jwk` and `jku` above all. */
export interface JwsHeader {
  alg: string
  kid?: string
  typ?: string
  [member: string]: unknown
}

/** A token taken apart. Nothing in it is true before `verifyJws` said so. */
export interface ParsedJws {
  header: JwsHeader
  payload: Record<string, unknown>
  signingInput: Buffer
  signature: Buffer
}

const MAX_KID_LENGTH = 128
const MAX_DEPTH = 8

/**
 * Makes a compact JWS (RFC 7515 section 7.1), signed by the algorithm of its header.
 * @throws SignatureKeyError when the key cannot sign with that algorithm
 */
export function signJws(
  header: JwsHeader & { alg: JwsAlgorithm },
  payload: Readonly<Record<string, unknown>>,
  key: KeyObject,
): string {
  const input = `${encodeJson(header)}.${encodeJson(payload)}`
  return `${input}.${signBytes(header.alg, key, Buffer.from(input, 'latin1')).toString('base64url')}`
}

/**
 * Takes a compact JWS apart. Undefined unless it is at most `maxLength` characters of exactly three parts in canonical
 * base64url, the first two JSON objects without repeated members. `crit` is refused because we understand no
 * extension (RFC 7515 section 4.1.11), `b64` with it (RFC 7797).
 */
export function parseJws(token: string, maxLength: number): ParsedJws | undefined {
  if (token.length > maxLength) return undefined
  const firstDot = token.indexOf('.')
  const secondDot = token.indexOf('.', firstDot + 1)
  if (firstDot < 1 || secondDot < 0 || token.includes('.', secondDot + 1)) return undefined

  const header = decodeObject(token.slice(0, firstDot))
  if (!header || !isUsableHeader(header)) return undefined
  const payload = decodeObject(token.slice(firstDot + 1, secondDot))
  const signature = decodeBase64url(token.slice(secondDot + 1))
  if (!payload || !signature || signature.length === 0) return undefined
  return { header, payload, signingInput: Buffer.from(token.slice(0, secondDot), 'latin1'), signature }
}

/**
 * True when the token was signed by this key. `alg` is the key's own algorithm; the header's must be equal, so that a
 * token cannot choose how it is checked (RFC 8725 section 3.1).
 */
export function verifyJws(parsed: ParsedJws, alg: JwsAlgorithm, key: KeyObject): boolean {
  return parsed.header.alg === alg && verifyBytes(alg, key, parsed.signingInput, parsed.signature)
}

function encodeJson(value: object): string {
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
    const value = parseStrictJson(UTF8.decode(bytes), MAX_DEPTH)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
