import { parseJws, verifyJws } from '../../keyring/jws.ts'
import { isSessionId } from '../../store/sessions/sessions.ts'
import type { ServedRealm } from '../realms/realms.ts'
import { isEpochSeconds, MAX_TOKEN_LENGTH } from './claims.ts'

/** The claims of a refresh token. Times are epoch seconds. */
export interface RefreshToken {
  sid: string
  sub: string
  /** The client that it was issued to. */
  azp: string
  /** Number of this token in its session, from 0. */
  gen: number
  iat: number
  exp: number
}

/** One more must fit the column `sessions.generation`. */
const MAX_GENERATION = 2 ** 31 - 2

/**
 * Reads a refresh token that this realm signed, expired ones included. Undefined for every other text: forged, of
 * another kind or another realm. Only keys of the keyring are tried, and only with HS512.
 */
export async function parseRefreshToken(token: string, realm: ServedRealm): Promise<RefreshToken | undefined> {
  const { refreshKeys } = realm.keyring()
  const parsed = parseJws(token, MAX_TOKEN_LENGTH)
  if (parsed?.header.kid === undefined) return undefined
  const key = refreshKeys.get(parsed.header.kid)
  if (!key || !(await verifyJws(parsed, key))) return undefined
  const { typ, iss, aud, sid, sub, azp, gen, iat, exp } = parsed.payload
  if (typ !== 'Refresh' || iss !== realm.issuer || aud !== realm.issuer) return undefined
  if (!isSessionId(sid) || typeof sub !== 'string' || typeof azp !== 'string') return undefined
  if (!isGeneration(gen) || !isEpochSeconds(iat) || !isEpochSeconds(exp)) return undefined
  return { sid, sub, azp, gen, iat, exp }
}

function isGeneration(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= MAX_GENERATION
}
