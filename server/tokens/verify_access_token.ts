import type { ClientRow } from '../../store/clients.ts'
import { parseJws, verifyJws } from '../../keyring/jws.ts'
import type { LiveSession, SessionUser } from '../../store/live_sessions.ts'
import type { Deps } from '../deps.ts'
import type { ServedRealm } from '../realms/served_realm.ts'
import { readAccessTokenClaims } from './access_token_claims.ts'
import type { AccessTokenClaims } from './access_token_claims.ts'
import { notBeforeSeconds } from './not_before.ts'
import { tokenDigest } from './verified_tokens.ts'

/** A token that is good at this moment, with the rows that say so. */
export interface GoodToken {
  claims: AccessTokenClaims
  session: LiveSession
  user: SessionUser
  client: ClientRow
}

export const MAX_TOKEN_LENGTH = 16 * 1024

/** How far ahead another replica's clock may be. Seconds. */
const CLOCK_SKEW_SECONDS = 60

type VerifyDeps = Pick<Deps, 'now' | 'findLiveSession' | 'verifiedTokens'>

/**
 * Decides whether an access token of this realm is good now: introspection, userinfo and field encryption ask nobody
 * else. Undefined when it is not, without a reason: callers must not be able to tell one from another. The session,
 * its user and their grants are read for every answer.
 */
export async function verifyAccessToken(
  token: string,
  realm: ServedRealm,
  deps: VerifyDeps,
): Promise<GoodToken | undefined> {
  const claims = readSignedClaims(token, realm, deps)
  if (!claims || !isTimely(claims, realm, deps.now())) return undefined
  const [session, client] = await Promise.all([
    deps.findLiveSession({ realm: realm.name, sid: claims.sid }),
    realm.findClient(claims.azp),
  ])
  return goodToken(claims, realm, session, client, deps.now())
}

/** The claims of a token that this realm signed as an access token, whether or not it is good; undefined for all else. */
export function readSignedClaims(
  token: string,
  realm: ServedRealm,
  { verifiedTokens, now }: Pick<Deps, 'now' | 'verifiedTokens'>,
): AccessTokenClaims | undefined {
  // Only so long as the same key is in the ring: a key that was withdrawn verifies nothing from then on.
  const { verifiers } = realm.keyring()
  if (token.length > MAX_TOKEN_LENGTH) return undefined
  const digest = tokenDigest(token)
  const known = verifiedTokens.find(digest, now())
  if (known && verifiers.get(known.kid)?.publicKey === known.key) return issuedBy(realm, known.claims)

  const parsed = parseJws(token, MAX_TOKEN_LENGTH)
  if (!parsed || !isAccessTokenType(parsed.header.typ)) return undefined
  const { kid = '' } = parsed.header
  const verifier = verifiers.get(kid)
  if (!verifier || !verifyJws(parsed, verifier.alg, verifier.publicKey)) return undefined
  const claims = readAccessTokenClaims(parsed.payload)
  if (!claims) return undefined
  verifiedTokens.remember(digest, { kid, key: verifier.publicKey, claims })
  return issuedBy(realm, claims)
}

/** RFC 9068 section 2.1, and the plain type for clients that refuse it. */
function isAccessTokenType(typ: string | undefined): boolean {
  return typ === 'at+jwt' || typ === 'JWT'
}

function issuedBy({ issuer }: ServedRealm, claims: AccessTokenClaims): AccessTokenClaims | undefined {
  return claims.iss === issuer ? claims : undefined
}

/** What the token's own times say, before anything is read from Postgres. */
function isTimely({ exp, iat }: AccessTokenClaims, { row }: Pick<ServedRealm, 'row'>, now: Date): boolean {
  const seconds = now.getTime() / 1000
  return seconds < exp && iat <= seconds + CLOCK_SKEW_SECONDS && iat >= notBeforeSeconds(row.tokens)
}

/** The rest of the decision, on rows as they are at this moment. */
export function goodToken(
  claims: AccessTokenClaims,
  { row }: Pick<ServedRealm, 'row'>,
  session: LiveSession | undefined,
  client: ClientRow | undefined,
  now: Date,
): GoodToken | undefined {
  if (!row.enabled || !isTimely(claims, { row }, now)) return undefined
  if (!session || session.ended || session.expiresAt <= now) return undefined
  if (session.realm !== row.realm || session.sid !== claims.sid || session.clientId !== claims.azp) return undefined
  const { user } = session
  if (!user?.enabled || user.subject !== claims.sub) return undefined
  if (!client?.enabled || client.clientId !== claims.azp) return undefined
  return { claims, session, user, client }
}
