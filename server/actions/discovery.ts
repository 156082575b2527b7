import type { Action } from '../http/http.ts'
import type { ServedRealm } from '../realms/served_realm.ts'
import { PUBLIC_DOCUMENT } from './public_document.ts'

/** OpenID Connect Discovery 1.0 section 4 and RFC 8414 section 3: what is served, and nothing else. */
export function discovery(): Action {
  return async ({ realm }) => ({ status: 200, headers: PUBLIC_DOCUMENT, body: metadata(realm) })
}

const CLIENT_AUTHENTICATION = ['client_secret_basic', 'client_secret_post']

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
    grant_types_supported: ['password', 'refresh_token'],
    // No flow uses one; some clients refuse a document in which this list is empty.
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [...algorithms],
    token_endpoint_auth_methods_supported: [...CLIENT_AUTHENTICATION, 'none'],
    introspection_endpoint_auth_methods_supported: CLIENT_AUTHENTICATION,
    revocation_endpoint_auth_methods_supported: [...CLIENT_AUTHENTICATION, 'none'],
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
    // Supported is what the absence of this member would mean.
    request_uri_parameter_supported: false,
  }
}
