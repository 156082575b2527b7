import type { Deps } from '../deps.ts'
import type { Grant } from '../grants/grant.ts'
import { passwordGrant } from '../grants/password.ts'
import { refreshTokenGrant } from '../grants/refresh_token.ts'
import type { Action, ClientRequest, Form } from '../http/request.ts'
import { OAuthError } from '../http/oauth_error.ts'
import { MAX_TOKEN_LENGTH } from '../tokens/verify_access_token.ts'

const GRANTS: ReadonlyMap<string, Grant> = new Map(
  [passwordGrant, refreshTokenGrant].map((grant) => [grant.grantType, grant]),
)

/** What discovery lists. */
export const GRANT_TYPES: readonly string[] = [...GRANTS.keys()]

/** @throws OAuthError 400 when the form names no grant type, or one that is not served */
export function requestedGrant({ form }: { form: Form }): Grant {
  if (form.grant_type === undefined) throw new OAuthError('invalid_request', 'Missing form parameter: grant_type')
  const grant = GRANTS.get(form.grant_type)
  if (!grant) throw new OAuthError('unsupported_grant_type', 'Unsupported grant_type')
  return grant
}

/** RFC 6749 section 3.2. */
export function token(deps: Deps): Action<ClientRequest> {
  return async (request) => {
    const { realm, client, form, address } = request
    const grant = requestedGrant(request)
    if (!client.settings.grantTypes.includes(grant.grantType)) {
      throw new OAuthError('unauthorized_client', 'Client not allowed for this grant')
    }
    const body = await grant.handle({ realm, form, address, client }, deps)
    if (body.access_token.length > MAX_TOKEN_LENGTH) warnOfLength(body.access_token.length, request, deps)
    return { status: 200, body }
  }
}

/** The user has so many roles that no endpoint, ours included, takes the token: to the client it looks like a bad one. */
function warnOfLength(length: number, { realm, client }: ClientRequest, { log }: Deps): void {
  log.warn(
    { realm: realm.name, clientId: client.clientId, length },
    'an access token is too long to be used: let the client have fewer roles (fullScopeAllowed: false, allowedRoles)',
  )
}
