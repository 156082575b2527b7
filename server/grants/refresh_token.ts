import { recordAudit } from '../../store/audit.ts'
import type { LiveSession } from '../../store/sessions/live_sessions.ts'
import type { Rotated, RotationRefused } from '../../store/sessions/rotation.ts'
import type { Deps } from '../deps.ts'
import { OAuthError } from '../http/oauth_error.ts'
import { renewal } from '../tokens/issue_tokens.ts'
import type { IssuedSession, TokenResponse } from '../tokens/issue_tokens.ts'
import { parseRefreshToken } from '../tokens/refresh_token.ts'
import type { RefreshToken } from '../tokens/refresh_token.ts'
import { notBeforeSeconds } from '../tokens/claims.ts'
import type { Grant, GrantRequest } from './grant.ts'

type RefreshRequest = GrantRequest<'refresh_token'>

/**
 * RFC 6749 section 6, with rotation (RFC 9700 section 4.14.2). The tokens are signed first; then one statement checks
 * and spends the presented token, so that two racing calls cannot both win and an error leaves nothing behind.
 */
export const refreshTokenGrant: Grant<'refresh_token'> = {
  grantType: 'refresh_token',
  parameters: { refresh_token: 'No refresh token' },

  async handle(request, deps) {
    const { realm, client } = request
    const presented = await parseRefreshToken(request.parameters.refresh_token, realm)
    if (!presented) throw refused('Invalid refresh token', 'not a refresh token of this realm')
    if (presented.azp !== client.clientId) throw refused('Invalid refresh token', 'token of another client', presented)

    const now = deps.now()
    if (now.getTime() >= presented.exp * 1000) throw refused('Token is not active', 'token expired', presented)
    const found = await deps.findLiveSession({ realm: realm.name, sid: presented.sid })
    const session = requireGoodSession(found, presented, request, now)

    // Only the statement can tell reuse from a repetition within the grace: a used token is not signed for.
    const call = { request, presented, session, now, deps }
    return presented.gen === session.generation ? rotate(call) : conclude(call, await spend(call))
  },
}

interface RefreshCall {
  request: RefreshRequest
  presented: RefreshToken
  session: LiveSession
  now: Date
  deps: Deps
}

function requireGoodSession(
  session: LiveSession | undefined,
  presented: RefreshToken,
  { realm, client }: RefreshRequest,
  now: Date,
): LiveSession {
  if (!session) throw refused('Session not active', 'no such session', presented)
  if (session.clientId !== client.clientId) {
    throw refused('Invalid refresh token', 'session of another client', presented)
  }
  // Removing a user ends the sessions as well; the client can act on this reason.
  if (!session.user) throw refused('Account disabled', 'user removed', presented)
  if (session.ended) throw refused('Session not active', 'session ended', presented)
  if (session.expiresAt <= now) throw refused('Token is not active', 'session expired', presented)
  if (presented.iat < notBeforeSeconds(realm.row.tokens)) {
    throw refused('Stale token', 'issued before notBefore of the realm', presented)
  }
  return session
}

async function rotate(call: RefreshCall): Promise<TokenResponse> {
  const { session, request, now } = call
  const successor: IssuedSession = {
    sid: session.sid,
    authTime: session.authTime,
    expiresAt: session.expiresAt,
    generation: session.generation + 1,
    rotatedAt: now,
    ...renewal(request.realm, session.expiresAt, now),
  }
  const response = await issue(call, successor)
  const outcome = await spend(call, successor)
  return outcome.outcome === 'rotated' ? response : conclude(call, outcome)
}

function spend(
  { request: { realm, client }, presented, session, now, deps }: RefreshCall,
  successor = renewal(realm, session.expiresAt, now),
): Promise<Rotated | RotationRefused> {
  return deps.rotateSession({
    realm: realm.name,
    sid: presented.sid,
    clientId: client.clientId,
    generation: presented.gen,
    now,
    graceSeconds: realm.row.tokens.refreshTokenReuseGraceSeconds,
    successorKid: successor.refreshKid,
    successorIdleExpiresAt: successor.idleExpiresAt,
  })
}

/** Another call was first: within the grace the same successor is signed again, from the row that the first call wrote. */
async function conclude(call: RefreshCall, outcome: Rotated | RotationRefused): Promise<TokenResponse> {
  const { session, presented } = call
  switch (outcome.outcome) {
    case 'rotated':
    case 'repeated':
      return issue(call, { ...outcome, sid: session.sid, authTime: session.authTime })
    case 'reused':
      await recordReuse(call)
      throw refused('Refresh token reused', 'token used before', presented)
    case 'expired':
      throw refused('Token is not active', 'session or token expired', presented)
    default:
      throw refused('Session not active', `session ${outcome.outcome}`, presented)
  }
}

/** Scope and roles are the present ones, not those of the login. */
function issue({ request, session, now }: RefreshCall, issued: IssuedSession): Promise<TokenResponse> {
  return request.issue({
    user: session.user,
    grantedRoles: session.grantedRoles,
    requestedScope: session.requestedScope.split(' '),
    narrowedTo: request.scope,
    session: issued,
    issuedAt: now,
  })
}

/** The session has ended already, so a failure to record it is only logged. */
async function recordReuse({ request: { realm, client }, presented, now, deps }: RefreshCall): Promise<void> {
  const details = { sid: presented.sid, clientId: client.clientId, subject: presented.sub, generation: presented.gen }
  deps.log.warn({ realm: realm.name, ...details }, 'a refresh token was used twice: its session was ended')
  await recordAudit(deps.pool, deps.auditWriter, [
    { at: now, action: 'refresh_token_reused', realm: realm.name, details },
  ]).catch((error: unknown) => deps.log.error({ err: error, ...details }, 'the audit log lacks a refresh token reuse'))
}

/** `cause` and the session go into the log line of the request only. */
function refused(description: string, cause: string, presented?: RefreshToken): OAuthError {
  return new OAuthError('invalid_grant', description, {
    cause,
    ...(presented && { context: { sid: presented.sid, subject: presented.sub } }),
  })
}
