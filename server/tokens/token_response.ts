import type { ClientRow } from '../../store/clients.ts'
import type { SessionUser } from '../../store/live_sessions.ts'
import { OAuthError } from '../http/oauth_error.ts'
import type { ServedRealm } from '../realms/realms.ts'
import { signAccessToken } from './access_token.ts'
import { signIdToken } from './id_token.ts'
import { notBeforeSeconds } from './not_before.ts'
import { epochSeconds, signRefreshToken } from './refresh_token.ts'

/** RFC 6749 section 5.1. The order of the members is the one in which they are sent. */
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

/** A session as it is, or will be once its row is written. */
export interface IssuedSession {
  sid: string
  authTime: Date
  expiresAt: Date
  /** The current refresh token. */
  generation: number
  rotatedAt: Date
  idleExpiresAt: Date
  refreshKid: string
}

/**
 * Signs the tokens of one answer. It is done before the session's row is written, so that nothing is committed that
 * could not be signed.
 * @throws OAuthError 503 when the keyring cannot sign
 */
export function signTokens(
  realm: ServedRealm,
  client: ClientRow,
  user: SessionUser,
  session: IssuedSession,
  granted: { scope: readonly string[]; roles: readonly string[] },
  now: Date,
): TokenResponse {
  const { signer } = realm.keyring()
  if (!signer) throw new OAuthError('keyring_unavailable', 'The keys of the realm are not loaded')
  const { tokens } = realm.row
  const issuedAt = epochSeconds(now)
  const lifetime = client.settings.accessTokenLifetimeSeconds ?? tokens.accessTokenLifetimeSeconds
  const expiresAt = Math.min(issuedAt + lifetime, epochSeconds(session.expiresAt))
  const content = {
    realm,
    client,
    user,
    sid: session.sid,
    ...granted,
    authTime: epochSeconds(session.authTime),
    issuedAt,
    expiresAt,
    signer,
  }
  const accessToken = signAccessToken(content)
  const { sid, generation, refreshKid, rotatedAt, idleExpiresAt } = session
  const refreshToken = signRefreshToken(
    {
      sid,
      subject: user.subject,
      clientId: client.clientId,
      generation,
      issuedAt: rotatedAt,
      expiresAt: idleExpiresAt,
    },
    realm,
    refreshKid,
  )
  return {
    access_token: accessToken,
    expires_in: Math.max(0, expiresAt - issuedAt),
    refresh_expires_in: Math.max(0, epochSeconds(idleExpiresAt) - issuedAt),
    refresh_token: refreshToken,
    token_type: 'bearer',
    ...(granted.scope.includes('openid') && { id_token: signIdToken(content, accessToken) }),
    'not-before-policy': notBeforeSeconds(tokens),
    session_state: sid,
    scope: granted.scope.join(' '),
  }
}

/** The key for new refresh tokens. @throws OAuthError 503 when the keyring has none */
export function refreshKid(realm: ServedRealm): string {
  const { refreshSigner } = realm.keyring()
  if (!refreshSigner) throw new OAuthError('keyring_unavailable', 'The keys of the realm are not loaded')
  return refreshSigner.kid
}

/** When a refresh token that is issued now ends: after the idle time, and never later than its session. */
export function idleEnd(realm: ServedRealm, sessionEnd: Date, now: Date): Date {
  const idle = now.getTime() + realm.row.tokens.refreshTokenLifetimeSeconds * 1000
  return new Date(Math.min(idle, sessionEnd.getTime()))
}
