import type { Action, BearerRequest } from '../http/request.ts'
import { insufficientScope } from '../tokens/bearer.ts'
import { userClaims } from '../tokens/issue_tokens.ts'

/** OpenID Connect Core section 5.3: the user's claims as they are at this moment, limited to the token's scope. */
export function userinfo(): Action<BearerRequest> {
  return async (request) => {
    const { user, claims } = request.token
    if (!claims.scope.includes('openid')) throw insufficientScope(request, 'The scope openid is needed', 'openid')
    return { status: 200, body: { sub: user.subject, ...userClaims(user, claims.scope) } }
  }
}
