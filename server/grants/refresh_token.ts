import type { ClientRow } from '../../store/clients.ts'
import { recordAudit } from '../../store/audit.ts'
import type { LiveSession } from '../../store/live_sessions.ts'
import type { Rotated, RotationRefused } from '../../store/sessions.ts'
import type { Deps } from '../deps.ts'
import { OAuthError } from '../http/oauth_error.ts'
import type { ServedRealm } from '../realms/realms.ts'
import { notBeforeSeconds } from '../tokens/not_before.ts'
import { parseRefreshToken } from '../tokens/refresh_token.ts'
import type { RefreshToken } from '../tokens/refresh_token.ts'
import { rolesNow } from '../tokens/roles.ts'
import { grantedScope, narrowedScope } from '../tokens/scope.ts'
import { idleEnd, refreshKid, signTokens } from '../tokens/token_response.ts'
import type { IssuedSession, TokenResponse } from '../tokens/token_response.ts'
import type { Grant } from './grant.ts'

/**
 * RFC 6749 section 6, with rotation (RFC 9700 section 4.14.2). The tokens are signed first; then one statement checks
 * and spends the presented token, so that two racing calls cannot both win and an error leaves nothing behind.
 */
export const refreshTokenGrant: Grant = {
  grantType: 'refresh_token',

  async handle({ realm, client, form }, deps) {
    if (form.refresh_token === undefined) throw new OAuthError('invalid_request', 'No refresh token')
    const presented = parseRefreshToken(form.refresh_token, realm)
    if (presented?.azp !== client.clientId) throw refused('Invalid refresh token')

    const now = deps.now()
    if (now.getTime() >= presented.exp * 1000) throw refused('Token is not active')
    const session = await deps.findLiveSession({ realm: realm.name, sid: presented.sid })
    requireGoodSession(session, presented, realm, client, now)

    const call: RefreshCall = { realm, client, presented, session, scope: form.scope, now, deps }
    // Already used: only the statement can tell reuse from a repetition within the grace.
    return presented.gen === session.generation ? rotate(call) : repeat(call)
  },
}

interface RefreshCall {
  realm: ServedRealm
  client: ClientRow
  presented: RefreshToken
  session: LiveSession
  /** As asked for now. */
  scope: string | undefined
  now: Date
  deps: Deps
}

function requireGoodSession(
  session: LiveSession | undefined,
  presented: RefreshToken,
  { row }: ServedRealm,
  client: ClientRow,
  now: Date,
): asserts session is LiveSession {
  if (!session) throw refused('Session not active')
  if (session.clientId !== client.clientId) throw refused('Invalid refresh token')
  // Removing a user ends the sessions as well; the reason is what the client can act on.
  if (!session.user) throw refused('Account disabled')
  if (session.ended) throw refused('Session not active')
  if (session.expiresAt <= now) throw refused('Token is not active')
  if (presented.iat < notBeforeSeconds(row.tokens)) throw refused('Stale token')
}

async function rotate(call: RefreshCall): Promise<TokenResponse> {
  const { realm, session, now } = call
  const successor: IssuedSession = {
    sid: session.sid,
    authTime: session.authTime,
    expiresAt: session.expiresAt,
    generation: session.generation + 1,
    rotatedAt: now,
    idleExpiresAt: idleEnd(realm, session.expiresAt, now),
    refreshKid: refreshKid(realm),
  }
  const response = signResponse(call, successor)
  const outcome = await spend(call, successor)
  if (outcome.outcome === 'rotated') return response
  return conclude(call, outcome)
}

async function repeat(call: RefreshCall): Promise<TokenResponse> {
  const { realm, session, now } = call
  const idleExpiresAt = idleEnd(realm, session.expiresAt, now)
  return conclude(call, await spend(call, { idleExpiresAt, refreshKid: refreshKid(realm) }))
}

function spend(
  { realm, client, presented, now, deps }: RefreshCall,
  successor: Pick<IssuedSession, 'refreshKid' | 'idleExpiresAt'>,
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

/** Another call was first: within the grace its successor is made once more, from the row that it left. */
async function conclude(call: RefreshCall, outcome: Rotated | RotationRefused): Promise<TokenResponse> {
  const { sid, authTime } = call.session
  switch (outcome.outcome) {
    case 'rotated':
    case 'repeated':
      return signResponse(call, { ...outcome, sid, authTime })
    case 'reused':
      await recordReuse(call)
      throw refused('Refresh token reused')
    case 'expired':
      throw refused('Token is not active')
    default:
      throw refused('Session not active')
  }
}

/** Scope and roles as they are now, whatever they were when the session began. */
function signResponse({ realm, client, session, scope, now }: RefreshCall, issued: IssuedSession): TokenResponse {
  if (!session.user?.enabled) throw refused('Account disabled')
  const roles = rolesNow(session, realm, client)
  const granted = grantedScope(session.requestedScope.split(' '), client.settings, roles)
  return signTokens(realm, client, session.user, issued, { scope: narrowedScope(granted, scope), roles }, now)
}

/** The session is over already; a record that cannot be written does not bring it back. */
async function recordReuse({ realm, client, presented, now, deps }: RefreshCall): Promise<void> {
  const details = { sid: presented.sid, clientId: client.clientId, subject: presented.sub, generation: presented.gen }
  deps.log.warn({ realm: realm.name, ...details }, 'a refresh token was used twice: the session is over')
  await recordAudit(deps.pool, deps.auditWriter, [
    { at: now, action: 'refresh_token_reused', realm: realm.name, details },
  ]).catch((error: unknown) => deps.log.error({ err: error, ...details }, 'a reuse was not recorded'))
}

function refused(description: string): OAuthError {
  return new OAuthError('invalid_grant', description)
}
