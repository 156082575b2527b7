import { certs } from './actions/certs.ts'
import { decrypt } from './actions/decrypt.ts'
import { discovery } from './actions/discovery.ts'
import { encrypt } from './actions/encrypt.ts'
import { introspect } from './actions/introspect.ts'
import { logout } from './actions/logout.ts'
import { realmInfo } from './actions/realm_info.ts'
import { revoke } from './actions/revoke.ts'
import { rewrap } from './actions/rewrap.ts'
import { requestedGrant, token } from './actions/token.ts'
import { userinfo } from './actions/userinfo.ts'
import type { Deps } from './deps.ts'
import type { BodyKind } from './http/body.ts'
import type { Action, BearerRequest, ClientRequest, HttpRequest } from './http/request.ts'

/** One endpoint. */
export type Route = Endpoint &
  (
    | { caller: 'anyone'; action: Action }
    /** An authenticated client (RFC 6749 section 2.3). */
    | { caller: 'client'; action: Action<ClientRequest> }
    /** The holder of a good access token (RFC 6750). */
    | { caller: 'bearer'; action: Action<BearerRequest> }
  )

interface Endpoint {
  /** In logs and metrics. */
  name: string
  method: 'GET' | 'POST'
  /** `:realm` stands for the name of a realm, `{/auth}` for an optional prefix. */
  path: string
  body: BodyKind
  /** Refuses a request before its caller is authenticated. @throws OAuthError */
  check?: (request: HttpRequest) => void
  /** The same document for every caller: any origin may read it, and it is served while Postgres is away. */
  isPublic?: true
}

const REALM = '{/auth}/realms/:realm'
const OIDC = `${REALM}/protocol/openid-connect`
const USERINFO = `${OIDC}/userinfo`
const OPENID_CONFIGURATION = '/auth/realms/:realm/.well-known/openid-configuration'
const OAUTH_METADATA = '/.well-known/oauth-authorization-server/auth/realms/:realm'
const GET_PUBLIC = { method: 'GET', body: 'none', caller: 'anyone', isPublic: true } as const
const POST_FORM = { method: 'POST', body: 'form', caller: 'client' } as const
const POST_JSON = { method: 'POST', body: 'json', caller: 'bearer' } as const

/** Every endpoint of the server. */
export function routes(deps: Deps): Route[] {
  return [
    { name: 'token', path: `${OIDC}/token`, ...POST_FORM, check: requestedGrant, action: token(deps) },
    { name: 'introspect', path: `${OIDC}/token/introspect`, ...POST_FORM, action: introspect(deps) },
    { name: 'logout', path: `${OIDC}/logout`, ...POST_FORM, action: logout(deps) },
    { name: 'revoke', path: `${OIDC}/revoke`, ...POST_FORM, action: revoke(deps) },
    { name: 'userinfo', path: USERINFO, method: 'GET', body: 'none', caller: 'bearer', action: userinfo() },
    { name: 'userinfo', path: USERINFO, method: 'POST', body: 'optional_form', caller: 'bearer', action: userinfo() },
    { name: 'encrypt', path: `${OIDC}/encrypt`, ...POST_JSON, action: encrypt(deps) },
    { name: 'decrypt', path: `${OIDC}/decrypt`, ...POST_JSON, action: decrypt(deps) },
    { name: 'rewrap', path: `${OIDC}/rewrap`, ...POST_JSON, action: rewrap(deps) },
    { name: 'certs', path: `${OIDC}/certs`, ...GET_PUBLIC, action: certs() },
    { name: 'realm_info', path: REALM, ...GET_PUBLIC, action: realmInfo() },
    // Only under the issuer (RFC 8414 section 3): elsewhere the document would name another place than its own.
    { name: 'discovery', path: OPENID_CONFIGURATION, ...GET_PUBLIC, action: discovery() },
    { name: 'discovery', path: OAUTH_METADATA, ...GET_PUBLIC, action: discovery() },
  ]
}
