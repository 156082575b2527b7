import Koa from 'koa'
import type { Logger } from 'pino'
import type { LogOverload } from '../process/log.ts'
import { accessLog } from './http/access_log.ts'
import { ClientGone } from './http/body.ts'
import { checkHead } from './http/guards.ts'
import { responseHeaders } from './http/headers.ts'
import { renderError } from './http/oauth_error.ts'
import { routeRequests } from './http/router.ts'
import type { RouterOptions } from './http/router.ts'
import { sendAnswer } from './http/state.ts'
import type { HttpMiddleware, RequestState } from './http/state.ts'
import type { ServerMetrics } from './metrics.ts'

export interface AppOptions extends RouterOptions {
  log: Logger
  logOverload: LogOverload
  metrics: Pick<ServerMetrics, 'answered'>
  /** Headers of every answer. */
  securityHeaders: Readonly<Record<string, string>>
  /** While true, connections are closed with their next answer. */
  isDraining: () => boolean
}

/** The Koa application: what every request passes through, in this order. `routes.ts` lists what answers it. */
export function createApp(options: AppOptions): Koa<RequestState> {
  const { log } = options
  const app = new Koa<RequestState>()
  const chain: HttpMiddleware[] = [
    accessLog(log, options.logOverload, options.metrics),
    responseHeaders(options.securityHeaders, options.isDraining),
    renderErrors,
    guardHead,
    ...routeRequests(options),
  ]
  for (const middleware of chain) app.use(middleware)

  app.on('error', (error: unknown) => {
    // A caller may hang up at any time; an operator has nothing to do.
    if (isHangUp(error)) log.debug({ err: error }, 'the caller closed the connection before the answer')
    else log.error({ err: error }, 'an answer could not be sent')
  })
  return app
}

/** Answers an error with its public half; the access log takes the private one. */
const renderErrors: HttpMiddleware = async (ctx, next) => {
  try {
    await next()
  } catch (error) {
    if (error instanceof ClientGone) {
      ctx.res.destroy()
      throw error
    }
    const { answer, log } = renderError(error)
    sendAnswer(ctx, answer)
    ctx.state.failure = log
  }
}

const guardHead: HttpMiddleware = (ctx, next) => {
  checkHead(ctx.req)
  return next()
}

const HUNG_UP = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'ETIMEDOUT', 'ERR_STREAM_PREMATURE_CLOSE'])

function isHangUp(error: unknown): boolean {
  if (error instanceof ClientGone) return true
  return error instanceof Error && 'code' in error && HUNG_UP.has(String(error.code))
}
