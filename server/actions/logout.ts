import { authenticateClient } from '../clients/client_authentication.ts'
import type { Deps } from '../deps.ts'
import { endClientSession } from '../sessions/end_session.ts'
import type { Action } from '../http/http.ts'
import { OAuthError } from '../http/oauth_error.ts'
import { parseRefreshToken } from '../tokens/refresh_token.ts'

/**
 * Ends the session of a refresh token, also of one that is used or expired: whoever holds an old one may give up what
 * came of it, and a client that retries a lost answer gets the same one.
 */
export function logout(deps: Deps): Action {
  return async (request) => {
    const client = await authenticateClient(request, deps)
    const { refresh_token: token } = request.form
    if (token === undefined) throw new OAuthError('invalid_request', 'No refresh token')

    const presented = parseRefreshToken(token, request.realm)
    if (presented?.azp !== client.clientId) throw new OAuthError('invalid_grant', 'Invalid refresh token')
    const { realm } = request.realm.row
    await endClientSession(
      deps,
      { realm, sid: presented.sid, clientId: client.clientId, subject: presented.sub },
      'logout',
    )
    return { status: 204 }
  }
}
