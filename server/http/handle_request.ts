import type { IncomingMessage } from 'node:http'
import { checkContentType } from './content_type.ts'
import { decodeForm } from './form.ts'
import { readBody } from './read_body.ts'
import { ANY_ORIGIN, preflightHeaders } from './cors.ts'
import { checkHead } from './head.ts'
import type { Form, HttpAnswer, HttpRequest } from './http.ts'
import { OAuthError } from './oauth_error.ts'
import type { Place } from './router.ts'
import type { Route } from '../routes.ts'
import type { Realms, ServedRealm } from '../realms/served_realm.ts'

export interface HandleDeps {
  findPlace: (path: string) => Place | undefined
  realms: Realms
  addressOf: (req: IncomingMessage) => string
}

/** What became known of a request, for its answer and its log line, on errors as well. */
export interface Handled {
  /** A name of the route table; `none` for what is not in it. */
  route: string
  /** Whether any page may read the answer, a refusal as well. */
  isPublic?: boolean
  request?: HttpRequest
}

const FORM = 'application/x-www-form-urlencoded'
const MAX_FORM_BYTES = 64 * 1024
const MAX_JSON_BYTES = 1024 * 1024
const NO_FORM: Form = Object.freeze(Object.create(null))

/**
 * Head, path, method, realm, body, action: each is refused before the next one is looked at. What becomes known is put into
 * `handled`.
 * @throws OAuthError and whatever an action throws; ClientGone
 */
export async function handleRequest(
  req: IncomingMessage,
  id: string,
  { findPlace, realms, addressOf }: HandleDeps,
  handled: Handled,
): Promise<HttpAnswer> {
  checkHead(req)
  const { path, query } = readTarget(req.url ?? '')
  const place = findPlace(path)
  if (!place) throw new OAuthError('not_found', 'There is nothing here')
  const route = place.byMethod.get(req.method ?? '')
  handled.route = (route ?? [...place.byMethod.values()][0])?.name ?? 'none'
  handled.isPublic = route?.isPublic ?? false
  if (req.method === 'OPTIONS') return preflight(req, place)
  if (!route) throw notAllowed(place)

  const realm = await findRealm(realms, place.realm, route)
  const request: HttpRequest = {
    id,
    realm,
    authorization: req.headers.authorization,
    query,
    form: NO_FORM,
    json: undefined,
    address: addressOf(req),
  }
  handled.request = request
  if (route.body !== 'none') await readInto(request, req, route)
  return route.action(request)
}

/** The Host header and the authority of an absolute target (RFC 9112 section 3.2.2) say nothing that is used. */
function readTarget(target: string): { path: string; query: string } {
  const question = target.indexOf('?')
  const end = question < 0 ? target.length : question
  const before = target.slice(0, end)
  const start = before.startsWith('/') ? 0 : Math.max(0, before.indexOf('/', before.indexOf('//') + 2))
  return { path: before.slice(start), query: target.slice(end + 1) }
}

function preflight(req: IncomingMessage, { byMethod, methods }: Place): HttpAnswer {
  const isPublic = byMethod.get('GET')?.isPublic
  const headers = isPublic ? { ...ANY_ORIGIN, 'Access-Control-Allow-Methods': methods } : undefined
  return { status: 204, headers: headers ?? preflightHeaders(req.headers.origin, methods) }
}

function notAllowed({ methods }: Place): OAuthError {
  return new OAuthError('method_not_allowed', 'The method is not allowed here', { headers: { Allow: methods } })
}

/** @throws OAuthError 404 for an unknown realm, 403 for a disabled one */
async function findRealm(realms: Realms, name: string, route: Route): Promise<ServedRealm> {
  const realm = await (route.isPublic ? realms.findLastKnown(name) : realms.find(name))
  if (!realm) throw new OAuthError('realm_not_found', 'Realm does not exist')
  if (!realm.row.enabled) throw new OAuthError('access_denied', 'Realm not enabled')
  return realm
}

async function readInto(request: HttpRequest, req: IncomingMessage, { body }: Route): Promise<void> {
  if (body === 'optional_form' && !hasBody(req)) return
  if (body === 'json') {
    checkContentType(req.headers, 'application/json')
    request.json = await readBody(req, MAX_JSON_BYTES)
    return
  }
  // An empty body needs no type: what is missing in it is told instead.
  if (hasBody(req) || req.headers['content-type'] !== undefined) checkContentType(req.headers, FORM)
  request.form = decodeForm(await readBody(req, MAX_FORM_BYTES))
}

/** RFC 9112 section 6: a body is announced by one of these. */
function hasBody({ headers }: IncomingMessage): boolean {
  if (headers['transfer-encoding'] !== undefined) return true
  return headers['content-length'] !== undefined && headers['content-length'] !== '0'
}
