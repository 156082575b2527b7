import { createHmac, hash, randomUUID } from 'node:crypto'
import { signJws, type SigningAlgorithm } from '../../keyring/jws.ts'
import type { LoadedKeyring } from '../../keyring/loaded_keyring.ts'
import type { ClientRow } from '../../store/clients.ts'
import type { Rotated } from '../../store/sessions/rotation.ts'
import type { SessionUser } from '../../store/sessions/live_sessions.ts'
import { OAuthError } from '../http/oauth_error.ts'
import type { ServedRealm } from '../realms/realms.ts'
import { grantedScope, narrowedScope, rolesNow } from './scope.ts'
import { epochSeconds, notBeforeSeconds } from './claims.ts'

/** The user and the session that a grant has proven. */
export interface Issuance {
  /** Null when the user was removed. */
  user: SessionUser | null
  /** Roles granted to the user now, before the limits of realm and client. */
  grantedRoles: string[]
  /** The scope that the session was asked for; re-evaluated against the present roles. */
  requestedScope: string[]
  /** The scope parameter of a refresh, which can only narrow. */
  narrowedTo?: string | undefined
  session: IssuedSession
  issuedAt: Date
}

/** A session as its row is, or will be after the grant has written it. */
export interface IssuedSession extends Omit<Rotated, 'outcome'> {
  sid: string
  authTime: Date
}

/** RFC 6749 section 5.1. The order of the members is the order of the answer. */
export interface TokenResponse {
  access_token: string
  expires_in: number
  refresh_expires_in: number
  refresh_token: string
  token_type: 'bearer'
  id_token?: string
  'not-before-policy': number
  session_state: string
  scope: string
}

/** What access and ID token of one answer have in common. Times are epoch seconds. */
interface TokenContent {
  realm: ServedRealm
  client: ClientRow
  user: SessionUser
  session: IssuedSession
  scope: readonly string[]
  roles: readonly string[]
  issuedAt: number
  expiresAt: number
  signer: NonNullable<LoadedKeyring['signer']>
}

/**
 * The steps that all grants share: the state of the user, roles, scope, signatures, response. A grant calls this before
 * it writes the session, so that nothing is committed that could not be signed.
 * @throws OAuthError 400 for a disabled user or an invalid scope, 503 when the keyring cannot sign
 */
export async function issueTokens(realm: ServedRealm, client: ClientRow, issuance: Issuance): Promise<TokenResponse> {
  const { user, session, narrowedTo } = issuance
  if (!user?.enabled) {
    throw new OAuthError('invalid_grant', 'Account disabled', {
      cause: user ? 'user disabled' : 'user removed',
      context: { sid: session.sid, ...(user && { subject: user.subject }) },
    })
  }
  const roles = rolesNow(issuance, realm, client)
  const scope = narrowedScope(grantedScope(issuance.requestedScope, client.settings, roles), narrowedTo)

  const { signer } = realm.keyring()
  if (!signer) throw keyringUnavailable()
  const { tokens } = realm.row
  const issuedAt = epochSeconds(issuance.issuedAt)
  const lifetime = client.settings.accessTokenLifetimeSeconds ?? tokens.accessTokenLifetimeSeconds
  const expiresAt = Math.min(issuedAt + lifetime, epochSeconds(session.expiresAt))
  const content: TokenContent = { realm, client, user, session, scope, roles, issuedAt, expiresAt, signer }

  // The ID token contains a hash of the access token, so it is signed after it.
  const signed = await Promise.all([signAccessAndIdToken(content), signRefreshToken(content)])
  const [{ accessToken, idToken }, refreshToken] = signed
  return {
    access_token: accessToken,
    expires_in: Math.max(0, expiresAt - issuedAt),
    refresh_expires_in: Math.max(0, epochSeconds(session.idleExpiresAt) - issuedAt),
    refresh_token: refreshToken,
    token_type: 'bearer',
    ...(idToken !== undefined && { id_token: idToken }),
    'not-before-policy': notBeforeSeconds(tokens),
    session_state: session.sid,
    scope: scope.join(' '),
  }
}

/** The members of a session that each refresh renews. @throws OAuthError 503 when the keyring has no refresh key */
export function renewal(
  realm: ServedRealm,
  sessionEnd: Date,
  now: Date,
): Pick<IssuedSession, 'refreshKid' | 'idleExpiresAt'> {
  const { refreshKid } = realm.keyring()
  if (refreshKid === undefined) throw keyringUnavailable()
  // Ends after the idle time, and never later than the session.
  const idleEnd = now.getTime() + realm.row.tokens.refreshTokenLifetimeSeconds * 1000
  return { refreshKid, idleExpiresAt: new Date(Math.min(idleEnd, sessionEnd.getTime())) }
}

async function signAccessAndIdToken(content: TokenContent): Promise<{ accessToken: string; idToken?: string }> {
  const accessToken = await signAccessToken(content)
  if (!content.scope.includes('openid')) return { accessToken }
  return { accessToken, idToken: await signIdToken(content, accessToken) }
}

/** RFC 9068, with the claims that Keycloak's adapters read. */
function signAccessToken(content: TokenContent): Promise<string> {
  const { realm, client, user, session, signer, scope, roles } = content
  const { accessTokenType, audiences, webOrigins } = client.settings
  const audience = audiences.filter((other) => other !== client.clientId)
  return signJws(
    { typ: accessTokenType, kid: signer.kid },
    {
      iss: realm.issuer,
      sub: user.subject,
      aud: audience.length === 0 ? client.clientId : [client.clientId, ...audience],
      azp: client.clientId,
      client_id: client.clientId,
      exp: content.expiresAt,
      iat: content.issuedAt,
      jti: randomUUID(),
      sid: session.sid,
      typ: 'Bearer',
      scope: scope.join(' '),
      realm_access: { roles },
      acr: '1',
      'allowed-origins': webOrigins,
      ...userClaims(user, scope),
    },
    signer,
  )
}

/** OpenID Connect Core section 2. Only the client reads it, so it carries no roles. */
function signIdToken(content: TokenContent, accessToken: string): Promise<string> {
  const { realm, client, user, session, signer, scope } = content
  return signJws(
    { typ: 'JWT', kid: signer.kid },
    {
      iss: realm.issuer,
      sub: user.subject,
      aud: client.clientId,
      azp: client.clientId,
      exp: content.expiresAt,
      iat: content.issuedAt,
      auth_time: epochSeconds(session.authTime),
      at_hash: accessTokenHash(accessToken, signer.alg),
      sid: session.sid,
      jti: randomUUID(),
      typ: 'ID',
      acr: '1',
      ...userClaims(user, scope),
    },
    signer,
  )
}

/** Section 3.1.3.6: the hash of the signature's algorithm. Ed25519 hashes with SHA-512 (RFC 8032). */
const AT_HASH: Readonly<Record<SigningAlgorithm, string>> = {
  RS256: 'sha256',
  PS256: 'sha256',
  ES256: 'sha256',
  ES384: 'sha384',
  EdDSA: 'sha512',
}

function accessTokenHash(accessToken: string, alg: SigningAlgorithm): string {
  const digest = hash(AT_HASH[alg], accessToken, 'buffer')
  return digest.toString('base64url', 0, digest.length / 2)
}

/**
 * Contains no random value: a repeated answer within the grace carries the same token as the first one.
 * @throws OAuthError 503 when the keyring does not hold the session's key
 */
async function signRefreshToken({ realm, client, user, session }: TokenContent): Promise<string> {
  const { sid, generation, refreshKid, rotatedAt, idleExpiresAt } = session
  const key = realm.keyring().refreshKeys.get(refreshKid)
  if (!key) throw keyringUnavailable()
  // As unpredictable as a random value without the key.
  const jti = createHmac('sha256', key.key).update(`rk.jti.v1 ${sid} ${generation}`).digest('base64url').slice(0, 22)
  return signJws(
    { typ: 'JWT', kid: refreshKid },
    {
      iss: realm.issuer,
      aud: realm.issuer,
      sub: user.subject,
      azp: client.clientId,
      sid,
      exp: epochSeconds(idleExpiresAt),
      iat: epochSeconds(rotatedAt),
      jti,
      gen: generation,
      typ: 'Refresh',
    },
    key,
  )
}

/** The claims that the scopes `profile` and `email` give (OpenID Connect Core section 5.4); absent values are left out. */
export function userClaims(user: SessionUser, scope: readonly string[]): object {
  return {
    ...(scope.includes('email') && user.email !== null && { email_verified: user.emailVerified }),
    ...(scope.includes('profile') && profileClaims(user)),
    ...(scope.includes('email') && user.email !== null && { email: user.email }),
  }
}

function profileClaims({ username, firstName, lastName }: SessionUser): object {
  const name = [firstName, lastName].filter(Boolean).join(' ')
  return {
    ...(name !== '' && { name }),
    preferred_username: username,
    ...(firstName !== null && { given_name: firstName }),
    ...(lastName !== null && { family_name: lastName }),
  }
}

function keyringUnavailable(): OAuthError {
  return new OAuthError('keyring_unavailable', 'The keys of the realm are not loaded')
}
