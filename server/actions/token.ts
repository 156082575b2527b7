import type { Deps } from '../deps.ts'
import type { Grant } from '../grants/grant.ts'
import { passwordGrant } from '../grants/password.ts'
import { refreshTokenGrant } from '../grants/refresh_token.ts'
import type { Action, ClientRequest, Form } from '../http/request.ts'
import { OAuthError } from '../http/oauth_error.ts'
import { MAX_TOKEN_LENGTH } from '../tokens/claims.ts'
import { issueTokens } from '../tokens/issue_tokens.ts'

/** Every grant of the server. A Client lists those that it may use. */
const GRANTS: readonly Grant[] = [passwordGrant, refreshTokenGrant]

/** The grant types in the discovery document. */
export const GRANT_TYPES: readonly string[] = GRANTS.map(({ grantType }) => grantType)

/** @throws OAuthError 400 when the form names no grant type, or an unknown one */
export function requestedGrant({ form: { grant_type: grantType } }: { form: Form }): Grant {
  if (grantType === undefined) throw new OAuthError('invalid_request', 'Missing form parameter: grant_type')
  const grant = GRANTS.find((each) => each.grantType === grantType)
  if (!grant) throw new OAuthError('unsupported_grant_type', 'Unsupported grant_type')
  return grant
}

/**
 * RFC 6749 section 3.2. Runs what all grants share around the requested one: before it the permission of the client and
 * the required parameters; after it `issue`, the state of the user, roles, scope and signatures.
 */
export function token(deps: Deps): Action<ClientRequest> {
  return async (request) => {
    const { realm, client, form, address } = request
    const grant = requestedGrant(request)
    if (!client.settings.grantTypes.includes(grant.grantType)) {
      throw new OAuthError('unauthorized_client', 'Client not allowed for this grant')
    }
    const body = await grant.handle(
      {
        realm,
        client,
        address,
        parameters: requiredParameters(grant, form),
        scope: form.scope,
        issue: (issuance) => issueTokens(realm, client, issuance),
      },
      deps,
    )
    if (body.access_token.length > MAX_TOKEN_LENGTH) warnOfLength(body.access_token.length, request, deps)
    return { status: 200, body }
  }
}

function requiredParameters({ parameters }: Grant, form: Form): Record<string, string> {
  const given: Record<string, string> = {}
  for (const [name, missing] of Object.entries(parameters)) {
    const value = form[name]
    if (value === undefined) throw new OAuthError('invalid_request', missing)
    given[name] = value
  }
  return given
}

/** The user has so many roles that no endpoint of this server accepts the token; to the client it is an invalid token. */
function warnOfLength(length: number, { realm, client }: ClientRequest, { log }: Deps): void {
  log.warn(
    { realm: realm.name, clientId: client.clientId, length },
    'an access token is too long to be used: let the client have fewer roles (fullScopeAllowed: false, allowedRoles)',
  )
}
