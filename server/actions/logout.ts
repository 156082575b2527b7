import type { Deps } from '../deps.ts'
import { endClientSession } from '../sessions/end_session.ts'
import type { Action, ClientRequest } from '../http/request.ts'
import { OAuthError } from '../http/oauth_error.ts'
import { parseRefreshToken } from '../tokens/refresh_token.ts'

/**
 * Ends the session of a refresh token, also of one that is used or expired: the holder of an old token may end its
 * session, and a client that repeats the request gets the same answer.
 */
export function logout(deps: Deps): Action<ClientRequest> {
  return async ({ realm, client, form }) => {
    const { refresh_token: token } = form
    if (token === undefined) throw new OAuthError('invalid_request', 'No refresh token')

    const presented = await parseRefreshToken(token, realm)
    if (!presented) throw invalidToken('not a refresh token of this realm')
    if (presented.azp !== client.clientId) throw invalidToken('token of another client')
    const session = { realm: realm.name, sid: presented.sid, clientId: client.clientId, subject: presented.sub }
    await endClientSession(deps, session, 'logout')
    return { status: 204 }
  }
}

function invalidToken(cause: string): OAuthError {
  return new OAuthError('invalid_grant', 'Invalid refresh token', { cause })
}
