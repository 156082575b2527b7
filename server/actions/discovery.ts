import { CLIENT_AUTHENTICATION_METHODS } from '../clients/client_authentication.ts'
import type { Action } from '../http/request.ts'
import type { ServedRealm } from '../realms/realms.ts'
import { GRANT_TYPES } from './token.ts'

/** OpenID Connect Discovery 1.0 section 4 and RFC 8414 section 3: only what is served. */
export function discovery(): Action {
  return async ({ realm }) => ({ status: 200, body: metadata(realm) })
}

const CONFIDENTIAL_METHODS = CLIENT_AUTHENTICATION_METHODS.filter((method) => method !== 'none')

function metadata(realm: ServedRealm): object {
  const endpoints = `${realm.issuer}/protocol/openid-connect`
  const algorithms = new Set([...realm.keyring().verifiers.values()].map(({ alg }) => alg))
  return {
    issuer: realm.issuer,
    token_endpoint: `${endpoints}/token`,
    introspection_endpoint: `${endpoints}/token/introspect`,
    userinfo_endpoint: `${endpoints}/userinfo`,
    revocation_endpoint: `${endpoints}/revoke`,
    jwks_uri: `${endpoints}/certs`,
    grant_types_supported: GRANT_TYPES,
    // No flow uses one; some clients refuse a document in which this list is empty.
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [...algorithms],
    token_endpoint_auth_methods_supported: CLIENT_AUTHENTICATION_METHODS,
    introspection_endpoint_auth_methods_supported: CONFIDENTIAL_METHODS,
    revocation_endpoint_auth_methods_supported: CLIENT_AUTHENTICATION_METHODS,
    scopes_supported: ['openid', 'profile', 'email'],
    claims_supported: [
      'iss',
      'sub',
      'aud',
      'exp',
      'iat',
      'auth_time',
      'acr',
      'azp',
      'name',
      'preferred_username',
      'given_name',
      'family_name',
      'email',
      'email_verified',
    ],
    acr_values_supported: ['1'],
    claims_parameter_supported: false,
    request_parameter_supported: false,
    // The default of an absent member is true.
    request_uri_parameter_supported: false,
  }
}
