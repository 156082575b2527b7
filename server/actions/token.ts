import { authenticateClient } from '../client_authentication.ts'
import type { Deps } from '../deps.ts'
import type { Grant } from '../grants/grant.ts'
import { passwordGrant } from '../grants/password.ts'
import { refreshTokenGrant } from '../grants/refresh_token.ts'
import type { Action } from '../http.ts'
import { OAuthError } from '../oauth_error.ts'

const GRANTS: ReadonlyMap<string, Grant> = new Map(
  [passwordGrant, refreshTokenGrant].map((grant) => [grant.grantType, grant]),
)

/** RFC 6749 section 3.2: what is asked, who asks, whether they may, and then the grant. */
export function token(deps: Deps): Action {
  return async (request) => {
    const grantType = request.form.grant_type
    if (grantType === undefined) throw new OAuthError('invalid_request', 'Missing form parameter: grant_type')
    const grant = GRANTS.get(grantType)
    if (!grant) throw new OAuthError('unsupported_grant_type', 'Unsupported grant_type')

    const client = await authenticateClient(request, deps)
    if (!client.settings.grantTypes.includes(grant.grantType)) {
      throw new OAuthError('unauthorized_client', 'Client not allowed for this grant')
    }
    const { realm, form, address } = request
    return { status: 200, body: await grant.handle({ realm, form, address, client }, deps) }
  }
}
