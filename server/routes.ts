import { certs } from './actions/certs.ts'
import { decrypt } from './actions/decrypt.ts'
import { discovery } from './actions/discovery.ts'
import { encrypt } from './actions/encrypt.ts'
import { introspect } from './actions/introspect.ts'
import { logout } from './actions/logout.ts'
import { realmInfo } from './actions/realm_info.ts'
import { revoke } from './actions/revoke.ts'
import { rewrap } from './actions/rewrap.ts'
import { token } from './actions/token.ts'
import { userinfo } from './actions/userinfo.ts'
import type { Deps } from './deps.ts'
import type { Action } from './http/http.ts'

/** One endpoint. */
export interface Route {
  /** In logs and metrics. */
  name: string
  method: 'GET' | 'POST'
  path: string
  /** `optional_form`: a request without a body is as good. */
  body: 'none' | 'form' | 'optional_form' | 'json'
  /** Says the same to everybody: read by any origin, and answered from the last known state. */
  isPublic?: true
  action: Action
}

const REALM = '/realms/:realm'
const OIDC = `${REALM}/protocol/openid-connect`

/** Every endpoint there is. */
export function routes(deps: Deps): Route[] {
  const withAndWithoutAuth: Route[] = [
    { name: 'token', method: 'POST', path: `${OIDC}/token`, body: 'form', action: token(deps) },
    { name: 'introspect', method: 'POST', path: `${OIDC}/token/introspect`, body: 'form', action: introspect(deps) },
    { name: 'logout', method: 'POST', path: `${OIDC}/logout`, body: 'form', action: logout(deps) },
    { name: 'revoke', method: 'POST', path: `${OIDC}/revoke`, body: 'form', action: revoke(deps) },
    { name: 'userinfo', method: 'GET', path: `${OIDC}/userinfo`, body: 'none', action: userinfo(deps) },
    { name: 'userinfo', method: 'POST', path: `${OIDC}/userinfo`, body: 'optional_form', action: userinfo(deps) },
    { name: 'encrypt', method: 'POST', path: `${OIDC}/encrypt`, body: 'json', action: encrypt(deps) },
    { name: 'decrypt', method: 'POST', path: `${OIDC}/decrypt`, body: 'json', action: decrypt(deps) },
    { name: 'rewrap', method: 'POST', path: `${OIDC}/rewrap`, body: 'json', action: rewrap(deps) },
    { name: 'certs', method: 'GET', path: `${OIDC}/certs`, body: 'none', isPublic: true, action: certs() },
    { name: 'realm_info', method: 'GET', path: REALM, body: 'none', isPublic: true, action: realmInfo() },
  ]
  return [
    ...withAndWithoutAuth,
    ...withAndWithoutAuth.map((route) => ({ ...route, path: `/auth${route.path}` })),
    // Only under the issuer: a document found anywhere else would name another place than its own.
    ...[`/auth${REALM}/.well-known/openid-configuration`, `/.well-known/oauth-authorization-server/auth${REALM}`].map(
      (path): Route => ({ name: 'discovery', method: 'GET', path, body: 'none', isPublic: true, action: discovery() }),
    ),
  ]
}
