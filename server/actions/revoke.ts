import { authenticateClient } from '../clients/client_authentication.ts'
import type { Deps } from '../deps.ts'
import { endClientSession } from '../sessions/end_session.ts'
import type { Action, HttpAnswer } from '../http/http.ts'
import { OAuthError } from '../http/oauth_error.ts'
import { parseRefreshToken } from '../tokens/refresh_token.ts'
import { readSignedClaims } from '../tokens/verify_access_token.ts'

/**
 * RFC 7009. A token of the client's own, also an expired one, ends its session and so every other token of it. The
 * answer to any other token is the same (section 2.2). `token_type_hint` is a hint.
 */
export function revoke(deps: Deps): Action {
  return async (request) => {
    const client = await authenticateClient(request, deps)
    const { token } = request.form
    if (token === undefined) throw new OAuthError('invalid_request', 'Token not provided.')

    const presented = parseRefreshToken(token, request.realm) ?? readSignedClaims(token, request.realm, deps)
    if (typeof presented === 'string') return unchanged(presented)
    if (presented.azp !== client.clientId) return unchanged('token of another client')
    const session = { realm: request.realm.name, sid: presented.sid, clientId: client.clientId, subject: presented.sub }
    await endClientSession(deps, session, 'revoked')
    return DONE
  }
}

// An empty body breaks some clients, 204 others.
const DONE: HttpAnswer = { status: 200, body: {} }

function unchanged(cause: string): HttpAnswer {
  return { ...DONE, cause }
}
