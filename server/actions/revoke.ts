import { authenticateClient } from '../clients/client_authentication.ts'
import type { Deps } from '../deps.ts'
import { endClientSession } from '../sessions/end_session.ts'
import type { Action } from '../http/http.ts'
import { OAuthError } from '../http/oauth_error.ts'
import type { ServedRealm } from '../realms/served_realm.ts'
import { parseRefreshToken } from '../tokens/refresh_token.ts'
import { readSignedClaims } from '../tokens/verify_access_token.ts'

/**
 * RFC 7009. A token of the client's own ends the session that it came from, and so every other token of it; anything
 * else is answered the same (section 2.2) and changes nothing. `token_type_hint` is a hint.
 */
export function revoke(deps: Deps): Action {
  return async (request) => {
    const client = await authenticateClient(request, deps)
    const { token } = request.form
    if (token === undefined) throw new OAuthError('invalid_request', 'Token not provided.')

    const presented = readTokenOfOurs(token, request.realm, deps)
    if (presented?.azp === client.clientId) {
      const { realm } = request.realm.row
      await endClientSession(
        deps,
        { realm, sid: presented.sid, clientId: client.clientId, subject: presented.sub },
        'revoked',
      )
    }
    // An empty body breaks some clients, 204 others.
    return { status: 200, body: {} }
  }
}

/** Expired ones as well: their session may be alive. */
function readTokenOfOurs(
  token: string,
  realm: ServedRealm,
  deps: Deps,
): { azp: string; sid: string; sub: string } | undefined {
  return parseRefreshToken(token, realm) ?? readSignedClaims(token, realm, deps)
}
