import type { Deps } from '../deps.ts'
import type { Action, ClientRequest, HttpAnswer, HttpRequest } from '../http/request.ts'
import { OAuthError } from '../http/oauth_error.ts'
import { isFor } from '../tokens/claims.ts'
import { rolesNow, scopeNow } from '../tokens/scope.ts'
import { verifyAccessToken } from '../tokens/verify_access_token.ts'
import type { GoodToken } from '../tokens/verify_access_token.ts'

/**
 * RFC 7662. A confidential client may introspect the tokens that it got and those that name it as audience; every other
 * token is inactive. `token_type_hint` is a hint (section 2.1), and only access tokens are ever active.
 */
export function introspect(deps: Deps): Action<ClientRequest> {
  return async (request) => {
    const { client: caller } = request
    if (caller.type === 'Public') throw new OAuthError('invalid_request', 'Client not allowed.', { status: 403 })
    const { token } = request.form
    if (token === undefined) throw new OAuthError('invalid_request', 'Token not provided.')

    const good = await verifyAccessToken(token, request.realm, deps)
    if (typeof good === 'string') return inactive(good)
    if (!isFor(good.claims, caller.clientId)) return inactive('token for another client')
    return { status: 200, body: activeToken(good, request) }
  }
}

/** Section 2.2: an inactive token is no error, and its cause is not in the answer. */
function inactive(cause: string): HttpAnswer {
  return { status: 200, body: { active: false }, cause }
}

/** Section 2.2. Roles, the scopes that depend on them, and the user are current; all other members are as signed. */
function activeToken({ claims, session, user, client }: GoodToken, { realm }: HttpRequest): object {
  const roles = rolesNow(session, realm, client)
  return {
    active: true,
    exp: claims.exp,
    iat: claims.iat,
    sub: claims.sub,
    username: user.username,
    ...(user.email !== null && claims.scope.includes('email') && { email: user.email }),
    scope: scopeNow(claims.scope, roles).join(' '),
    client_id: claims.azp,
    token_type: 'Bearer',
    aud: claims.aud,
    iss: claims.iss,
    jti: claims.jti,
    sid: claims.sid,
    typ: 'Bearer',
    azp: claims.azp,
    realm_access: { roles },
  }
}
