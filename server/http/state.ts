import type { RouterContext, RouterMiddleware } from '@koa/router'
import type { ClientRow } from '../../store/clients.ts'
import type { ServedRealm } from '../realms/realms.ts'
import type { RenderedError } from './oauth_error.ts'
import type { HttpAnswer } from './request.ts'

/** What the access log and the header middleware need of a request; the router writes it. Actions see HttpRequest alone. */
export interface RequestState {
  /** A name of the route table; undefined for a path that is not in it. */
  routeName?: string
  /** Any origin may read the answer, a refusal as well. */
  isPublic?: boolean
  realm?: ServedRealm
  /** The authenticated client. */
  client?: ClientRow
  /** Why a token has no effect although the answer is no error. */
  cause?: string | undefined
  /** The private half of the error that was answered. */
  failure?: RenderedError['log']
}

export type HttpContext = RouterContext<RequestState>
export type HttpMiddleware = RouterMiddleware<RequestState>

/** Hands an answer to Koa, which sends it after the last middleware. */
export function sendAnswer(ctx: HttpContext, { status, headers, body, cause }: HttpAnswer): void {
  ctx.status = status
  if (headers) ctx.set(headers)
  if (body) {
    // As text, because Koa would add a charset to the type of an object.
    ctx.set('Content-Type', 'application/json')
    ctx.body = JSON.stringify(body)
  }
  ctx.state.cause = cause
}
