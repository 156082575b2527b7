import type { Deps } from '../deps.ts'
import { endClientSession } from '../sessions/end_session.ts'
import type { Action, ClientRequest, HttpAnswer } from '../http/request.ts'
import { OAuthError } from '../http/oauth_error.ts'
import { parseRefreshToken } from '../tokens/refresh_token.ts'
import { readSignedClaims } from '../tokens/verify_access_token.ts'

/**
 * RFC 7009. A token of the client's own, also an expired one, ends its session and so every other token of it. The
 * answer to any other token is the same (section 2.2). `token_type_hint` is a hint.
 */
export function revoke(deps: Deps): Action<ClientRequest> {
  return async ({ realm, client, form }) => {
    const { token } = form
    if (token === undefined) throw new OAuthError('invalid_request', 'Token not provided.')

    const presented = (await parseRefreshToken(token, realm)) ?? (await readSignedClaims(token, realm, deps))
    if (typeof presented === 'string') return unchanged(presented)
    if (presented.azp !== client.clientId) return unchanged('token of another client')
    const session = { realm: realm.name, sid: presented.sid, clientId: client.clientId, subject: presented.sub }
    await endClientSession(deps, session, 'revoked')
    return DONE
  }
}

// An empty body breaks some clients, 204 others.
const DONE: HttpAnswer = { status: 200, body: {} }

function unchanged(cause: string): HttpAnswer {
  return { ...DONE, cause }
}
