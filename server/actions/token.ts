import { authenticateClient } from '../clients/client_authentication.ts'
import type { Deps } from '../deps.ts'
import type { Grant } from '../grants/grant.ts'
import { passwordGrant } from '../grants/password.ts'
import { refreshTokenGrant } from '../grants/refresh_token.ts'
import type { Action, HttpRequest } from '../http/http.ts'
import { OAuthError } from '../http/oauth_error.ts'
import { MAX_TOKEN_LENGTH } from '../tokens/verify_access_token.ts'

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
    const body = await grant.handle({ realm, form, address, client }, deps)
    if (body.access_token.length > MAX_TOKEN_LENGTH) warnOfLength(body.access_token.length, request, deps)
    return { status: 200, body }
  }
}

/** The user has so many roles that no endpoint, ours included, takes the token: to the client it looks like a bad one. */
function warnOfLength(length: number, { realm, corsClient }: HttpRequest, { log }: Deps): void {
  log.warn(
    { realm: realm.name, clientId: corsClient?.clientId, length },
    'an access token is too long to be used: let the client have fewer roles (fullScopeAllowed: false, allowedRoles)',
  )
}
