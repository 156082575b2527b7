import type { Deps } from '../deps.ts'
import type { Action } from '../http/http.ts'
import { bearerToken, insufficientScope, invalidToken } from '../tokens/bearer.ts'
import { userClaims } from '../tokens/user_claims.ts'
import { verifyAccessToken } from '../tokens/verify_access_token.ts'

/** OpenID Connect Core section 5.3: the user as they are at this moment, as far as the token's scope goes. */
export function userinfo(deps: Deps): Action {
  return async (request) => {
    const good = await verifyAccessToken(bearerToken(request), request.realm, deps)
    if (typeof good === 'string') throw invalidToken(request, good)
    request.corsClient = good.client
    const { scope } = good.claims
    if (!scope.includes('openid')) throw insufficientScope(request, 'The scope openid is needed', 'openid')
    return { status: 200, body: { sub: good.user.subject, ...userClaims(good.user, scope) } }
  }
}
