import { createHmac } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { parseJws, signJws, verifyJws } from '../../keyring/jws.ts'
import { OAuthError } from '../http/oauth_error.ts'
import type { ServedRealm } from '../realms/realms.ts'
import { MAX_TOKEN_LENGTH } from './verify_access_token.ts'

/** What a refresh token of this realm says. Times are epoch seconds. */
export interface RefreshToken {
  sid: string
  sub: string
  /** The client it was given to. */
  azp: string
  /** The place of this token in its session, from 0. */
  gen: number
  iat: number
  exp: number
}

/** What a refresh token is made of: the same values give the same text. */
export interface RefreshTokenContent {
  sid: string
  subject: string
  clientId: string
  generation: number
  issuedAt: Date
  expiresAt: Date
}

const SESSION_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const MAX_GENERATION = 2 ** 31 - 2

/**
 * Reads a refresh token that this realm signed, expired ones included. Undefined for everything else: forged, of
 * another kind or another realm. Only keys of the keyring are tried, and only with HS512.
 */
export function parseRefreshToken(token: string, realm: ServedRealm): RefreshToken | undefined {
  const { refreshKeys } = realm.keyring()
  const parsed = parseJws(token, MAX_TOKEN_LENGTH)
  if (parsed?.header.kid === undefined) return undefined
  const key = refreshKeys.get(parsed.header.kid)
  if (!key || !verifyJws(parsed, 'HS512', key)) return undefined
  const { typ, iss, aud, sid, sub, azp, gen, iat, exp } = parsed.payload
  if (typ !== 'Refresh' || iss !== realm.issuer || aud !== realm.issuer) return undefined
  if (typeof sid !== 'string' || !SESSION_ID.test(sid)) return undefined
  if (typeof sub !== 'string' || typeof azp !== 'string') return undefined
  if (!isCount(gen) || gen > MAX_GENERATION || !isCount(iat) || !isCount(exp)) return undefined
  return { sid, sub, azp, gen, iat, exp }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

/**
 * Makes a refresh token with the key of this kid. Nothing in it is random: the answer to a repeated request carries
 * the very token that the first one carried.
 * @throws OAuthError 503 when the keyring does not hold the key
 */
export function signRefreshToken(content: RefreshTokenContent, realm: ServedRealm, kid: string): string {
  const key = realm.keyring().refreshKeys.get(kid)
  if (!key) throw new OAuthError('keyring_unavailable', 'The keys of the realm are not loaded')
  const { sid, subject, clientId, generation, issuedAt, expiresAt } = content
  return signJws(
    { alg: 'HS512', typ: 'JWT', kid },
    {
      iss: realm.issuer,
      aud: realm.issuer,
      sub: subject,
      azp: clientId,
      sid,
      exp: epochSeconds(expiresAt),
      iat: epochSeconds(issuedAt),
      jti: tokenId(key, sid, generation),
      gen: generation,
      typ: 'Refresh',
    },
    key,
  )
}

/** As unpredictable as a random one to whoever lacks the key. */
function tokenId(key: KeyObject, sid: string, generation: number): string {
  return createHmac('sha256', key).update(`rk.jti.v1 ${sid} ${generation}`).digest('base64url').slice(0, 22)
}

/** Rounded down: a token never says that it lasts longer than it does. */
export function epochSeconds(time: Date): number {
  return Math.floor(time.getTime() / 1000)
}
