import type { IncomingMessage } from 'node:http'
import { Router } from '@koa/router'
import type { RouterContext } from '@koa/router'
import { authenticateClient } from '../clients/client_authentication.ts'
import type { Deps } from '../deps.ts'
import type { Realms, ServedRealm } from '../realms/realms.ts'
import type { Route } from '../routes.ts'
import { authenticateBearer } from '../tokens/bearer.ts'
import type { GoodToken } from '../tokens/verify_access_token.ts'
import { NO_BODY, openBody } from './body.ts'
import { preflightHeaders } from './headers.ts'
import { readTarget } from './guards.ts'
import { OAuthError } from './oauth_error.ts'
import type { HttpAnswer, HttpRequest } from './request.ts'
import { sendAnswer } from './state.ts'
import type { HttpMiddleware, RequestState } from './state.ts'

export interface RouterOptions {
  routes: readonly Route[]
  /** What authentication needs. */
  deps: Deps
  addressOf: (req: IncomingMessage) => string
}

/** A token that was verified longer ago is verified again before the action. */
const MAX_TOKEN_AGE_MILLIS = 500

/** What the table says of one path. */
interface Path {
  /** Of the first route at the path: the label of requests with another method. */
  name: string
  methods: string
  isPublic: boolean
}

/**
 * Finds the route of a request and answers it. The patterns are regular expressions: @koa/router would find a path in
 * another letter case or with a trailing slash too. The realm's name is the capture, which the router does not decode.
 */
export function routeRequests({ routes, deps, addressOf }: RouterOptions): HttpMiddleware[] {
  const router = new Router<RequestState>()
  const paths = new Map<unknown, Path>()
  for (const [path, atPath] of Map.groupBy(routes, ({ path }) => path)) {
    const pattern = patternOf(path)
    paths.set(pattern, describePath(atPath))
    for (const route of atPath) {
      const handle = async (ctx: RouterContext<RequestState>): Promise<void> => {
        ctx.state.routeName = route.name
        ctx.state.isPublic = route.isPublic ?? false
        sendAnswer(ctx, await answerRoute(ctx, route, deps, addressOf))
      }
      router.register(pattern, [route.method], handle, { pathAsRegExp: true })
    }
  }

  const useSentPath: HttpMiddleware = (ctx, next) => {
    const { path, query } = readTarget(ctx.req.url ?? '')
    // An absolute target becomes a relative one: Koa must not parse an authority.
    if (!ctx.req.url?.startsWith('/')) ctx.req.url = query === '' ? path : `${path}?${query}`
    ctx.newRouterPath = path
    return next()
  }

  const refuseUnrouted: HttpMiddleware = async (ctx) => {
    const path = paths.get(ctx.matched?.[0]?.path)
    if (!path) throw new OAuthError('not_found', 'There is nothing here')
    ctx.state.routeName = path.name
    if (ctx.method !== 'OPTIONS') {
      throw new OAuthError('method_not_allowed', 'The method is not allowed here', { headers: { Allow: path.methods } })
    }
    sendAnswer(ctx, { status: 204, headers: preflightHeaders(ctx.req.headers.origin, path) })
  }

  return [useSentPath, router.routes(), refuseUnrouted]
}

/** Compared letter by letter. An empty name is an unknown realm rather than an unknown path. */
function patternOf(path: string): RegExp {
  const escaped = path.replaceAll('.', '\\.')
  return new RegExp(`^${escaped.replace('{/auth}', '(?:/auth)?').replace(':realm', '([^/]*)')}$`)
}

function describePath(routes: readonly Route[]): Path {
  const methods = routes.map(({ method }): string => method)
  const get = routes.find(({ method }) => method === 'GET')
  // RFC 9110 section 9.3.2: HEAD is GET without the content. The router adds it as well.
  if (get) methods.push('HEAD')
  methods.push('OPTIONS')
  return { name: routes[0]?.name ?? '', methods: methods.join(', '), isPublic: get?.isPublic ?? false }
}

/** Realm, body, caller, action (a bearer comes before a JSON body): each step refuses before the next one begins. */
async function answerRoute(
  ctx: RouterContext<RequestState>,
  route: Route,
  deps: Deps,
  addressOf: RouterOptions['addressOf'],
): Promise<HttpAnswer> {
  const realm = await findRealm(deps.realms, ctx.captures?.[0] ?? '', route)
  ctx.state.realm = realm
  const head: HttpRequest = {
    realm,
    authorization: ctx.req.headers.authorization,
    query: readTarget(ctx.req.url ?? '').query,
    ...NO_BODY,
    address: addressOf(ctx.req),
  }
  const readBody = await openBody(ctx, route.body)
  if (route.caller === 'bearer' && route.body === 'json') {
    // Only the holder of a token may make the server hold a large body. The token is in the header.
    let token = await authenticate(ctx.state, head, deps)
    const begun = performance.now()
    const body = await readBody()
    // Its session may have ended while the body came slowly.
    if (performance.now() - begun > MAX_TOKEN_AGE_MILLIS) token = await authenticate(ctx.state, head, deps)
    return route.action({ ...head, ...body, token })
  }
  const request = { ...head, ...(await readBody()) }
  route.check?.(request)
  return callAction(ctx.state, request, route, deps)
}

/** @throws OAuthError 404 for an unknown realm, 403 for a disabled one */
async function findRealm(realms: Realms, name: string, { isPublic }: Route): Promise<ServedRealm> {
  const realm = await (isPublic ? realms.findLastKnown(name) : realms.find(name))
  if (!realm) throw new OAuthError('realm_not_found', 'Realm does not exist')
  if (!realm.row.enabled) throw new OAuthError('access_denied', 'Realm not enabled')
  return realm
}

async function authenticate(state: RequestState, request: HttpRequest, deps: Deps): Promise<GoodToken> {
  const token = await authenticateBearer(request, deps)
  state.client = token.client
  return token
}

/** Authenticates the caller that the route asks for. From then on the client's origins get CORS headers. */
async function callAction(state: RequestState, request: HttpRequest, route: Route, deps: Deps): Promise<HttpAnswer> {
  switch (route.caller) {
    case 'client': {
      const client = await authenticateClient(request, deps.now())
      state.client = client
      return route.action({ ...request, client })
    }
    case 'bearer':
      return route.action({ ...request, token: await authenticate(state, request, deps) })
    default:
      return route.action(request)
  }
}
