import type { ClientRow } from '../../store/clients.ts'
import { parseJws, verifyJws } from '../../keyring/jws.ts'
import type { LiveSession, SessionUser } from '../../store/sessions/live_sessions.ts'
import type { Deps } from '../deps.ts'
import type { ServedRealm } from '../realms/realms.ts'
import { MAX_TOKEN_LENGTH, notBeforeSeconds, readAccessTokenClaims } from './claims.ts'
import type { AccessTokenClaims } from './claims.ts'
import { tokenDigest } from './verified_tokens.ts'

/** A token that is good at this moment, with the rows that it was compared with. */
export interface GoodToken {
  claims: AccessTokenClaims
  session: LiveSession
  user: SessionUser
  client: ClientRow
}

/** Why a token is not good. For the log line alone: the caller gets one answer for all of them. */
export type TokenRefusal =
  | 'token malformed'
  | 'token signed with an unknown key'
  | 'token with a bad signature'
  | 'token of another realm'
  | 'token expired'
  | 'token from the future'
  | 'token issued before notBefore'
  | 'token does not match its session'
  | 'session not found'
  | 'session ended'
  | 'session expired'
  | 'user not found'
  | 'user disabled'
  | 'client not found'
  | 'client disabled'
  | 'realm disabled'

/** How far ahead another replica's clock may be. Seconds. */
const CLOCK_SKEW_SECONDS = 60

/** What a verification needs. */
export type VerifyDeps = Pick<Deps, 'now' | 'findLiveSession' | 'verifiedTokens'>

/**
 * Decides whether an access token of this realm is good now, for introspection, userinfo and field encryption alike.
 * Callers of the endpoints must not learn the refusal. The session, its user and their grants are read for every call.
 */
export async function verifyAccessToken(
  token: string,
  realm: ServedRealm,
  deps: VerifyDeps,
): Promise<GoodToken | TokenRefusal> {
  const claims = await readSignedClaims(token, realm, deps)
  if (typeof claims === 'string') return claims
  const untimely = checkTimes(claims, realm, deps.now())
  if (untimely !== undefined) return untimely
  const [session, client] = await Promise.all([
    deps.findLiveSession({ realm: realm.name, sid: claims.sid }),
    realm.findClient(claims.azp),
  ])
  return goodToken(claims, realm, session, client, deps.now())
}

/** The claims of a token that this realm signed as an access token, good or not. */
export async function readSignedClaims(
  token: string,
  realm: ServedRealm,
  { verifiedTokens }: Pick<Deps, 'verifiedTokens'>,
): Promise<AccessTokenClaims | TokenRefusal> {
  const { verifiers } = realm.keyring()
  if (token.length > MAX_TOKEN_LENGTH) return 'token malformed'
  const digest = tokenDigest(token)
  const known = verifiedTokens.get(digest)
  // Only while the same key is in the keyring: a key that was withdrawn verifies no token from then on.
  if (known && verifiers.get(known.kid)?.key === known.key) return issuedBy(realm, known.claims)

  const parsed = parseJws(token, MAX_TOKEN_LENGTH)
  if (!parsed || !isAccessTokenType(parsed.header.typ)) return 'token malformed'
  const { kid = '' } = parsed.header
  const verifier = verifiers.get(kid)
  if (!verifier) return 'token signed with an unknown key'
  if (!(await verifyJws(parsed, verifier))) return 'token with a bad signature'
  const claims = readAccessTokenClaims(parsed.payload)
  if (!claims) return 'token malformed'
  verifiedTokens.set(digest, { kid, key: verifier.key, claims }, token.length)
  return issuedBy(realm, claims)
}

/** RFC 9068 section 2.1, and the plain type for clients that refuse it. */
function isAccessTokenType(typ: string | undefined): boolean {
  return typ === 'at+jwt' || typ === 'JWT'
}

function issuedBy({ issuer }: ServedRealm, claims: AccessTokenClaims): AccessTokenClaims | TokenRefusal {
  return claims.iss === issuer ? claims : 'token of another realm'
}

/** Compares the token's own times before anything is read from Postgres. */
function checkTimes(
  { exp, iat }: AccessTokenClaims,
  { row }: Pick<ServedRealm, 'row'>,
  now: Date,
): TokenRefusal | undefined {
  const seconds = now.getTime() / 1000
  if (seconds >= exp) return 'token expired'
  if (iat > seconds + CLOCK_SKEW_SECONDS) return 'token from the future'
  // Written so that a notBefore that is no date (NaN) refuses every token.
  return iat >= notBeforeSeconds(row.tokens) ? undefined : 'token issued before notBefore'
}

/** Compares a token that this realm signed with the rows as they are at this moment. */
export function goodToken(
  claims: AccessTokenClaims,
  { row }: Pick<ServedRealm, 'row'>,
  session: LiveSession | undefined,
  client: ClientRow | undefined,
  now: Date,
): GoodToken | TokenRefusal {
  if (!row.enabled) return 'realm disabled'
  const untimely = checkTimes(claims, { row }, now)
  if (untimely !== undefined) return untimely
  if (!session) return 'session not found'
  if (session.ended) return 'session ended'
  if (session.expiresAt <= now) return 'session expired'
  if (session.realm !== row.realm || session.sid !== claims.sid || session.clientId !== claims.azp) {
    return 'token does not match its session'
  }
  const { user } = session
  if (!user) return 'user not found'
  if (!user.enabled) return 'user disabled'
  if (user.subject !== claims.sub) return 'token does not match its session'
  if (!client) return 'client not found'
  if (!client.enabled) return 'client disabled'
  if (client.clientId !== claims.azp) return 'token does not match its session'
  return { claims, session, user, client }
}
