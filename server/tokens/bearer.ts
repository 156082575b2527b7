import type { HttpRequest } from '../http/request.ts'
import { OAuthError } from '../http/oauth_error.ts'
import type { ServedRealm } from '../realms/realms.ts'
import { verifyAccessToken } from './verify_access_token.ts'
import type { GoodToken, TokenRefusal, VerifyDeps } from './verify_access_token.ts'

/** Whose realm a challenge names. */
interface InRealm {
  realm: Pick<ServedRealm, 'name'>
}

/**
 * Verifies the token of a request.
 * @throws OAuthError 401 without a good token, 400 for more than one transport
 */
export async function authenticateBearer(request: HttpRequest, deps: VerifyDeps): Promise<GoodToken> {
  const good = await verifyAccessToken(bearerToken(request), request.realm, deps)
  if (typeof good === 'string') throw invalidToken(request, good)
  return good
}

// RFC 6750 section 3. A realm's name is a DNS label, so nothing in a challenge needs quoting.

/**
 * The token of the Authorization header (RFC 6750 section 2.1), or of the form field `access_token` where an endpoint
 * takes forms (section 2.2). A token in the query (section 2.3) is refused: queries end up in logs.
 * @throws OAuthError 401 without a token, 400 for more than one transport
 */
export function bearerToken(request: InRealm & Pick<HttpRequest, 'authorization' | 'form' | 'query'>): string {
  const inHeader = tokenOfHeader(request.authorization)
  const inForm = request.form.access_token
  if (request.query !== '' && new URLSearchParams(request.query).has('access_token')) {
    throw malformed(request, 'The access token must not be in the query')
  }
  if (inHeader !== undefined && inForm !== undefined) {
    throw malformed(request, 'The access token must be given in one way only')
  }
  const token = inHeader ?? inForm
  if (token === undefined) {
    throw new OAuthError('invalid_token', 'No access token', { headers: challenge(request) })
  }
  return token
}

/** RFC 6750 section 3.1. One answer for every refusal: expired, revoked, malformed or of another realm. */
export function invalidToken(request: InRealm, cause: TokenRefusal): OAuthError {
  return new OAuthError('invalid_token', 'The access token is not valid', {
    headers: challenge(request, { error: 'invalid_token' }),
    cause,
  })
}

/** `scope` is the required scope, where the caller may learn it. */
export function insufficientScope(request: InRealm, description: string, scope?: string): OAuthError {
  return new OAuthError('insufficient_scope', description, {
    headers: challenge(request, { error: 'insufficient_scope', ...(scope !== undefined && { scope }) }),
  })
}

function malformed(request: InRealm, description: string): OAuthError {
  return new OAuthError('invalid_request', description, { headers: challenge(request, { error: 'invalid_request' }) })
}

function challenge({ realm }: InRealm, parameters: Record<string, string> = {}): Record<string, string> {
  const all = Object.entries({ realm: realm.name, ...parameters })
  return { 'WWW-Authenticate': `Bearer ${all.map(([name, value]) => `${name}="${value}"`).join(', ')}` }
}

/** Undefined for no header and for other schemes. A text that is no token68 is returned as well: no signature fits it. */
function tokenOfHeader(authorization: string | undefined): string | undefined {
  const match = /^bearer(?: +(.*))?$/i.exec(authorization ?? '')
  const token = match?.[1]?.trim()
  return token === '' ? undefined : token
}
