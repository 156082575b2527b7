import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { LogOverload } from '../../process/log.ts'
import type { ServerMetrics } from '../metrics.ts'
import type { HttpMiddleware } from './state.ts'

/**
 * Gives every request an id, one line in the log and its metrics. A caller that hung up gets none of the last two. Of
 * refusals for overload, not each has a line.
 */
export function accessLog(
  log: Logger,
  logOverload: LogOverload,
  metrics: Pick<ServerMetrics, 'answered'>,
): HttpMiddleware {
  return async (ctx, next) => {
    const requestId = randomUUID()
    const started = performance.now()
    ctx.set('X-Request-Id', requestId)
    await next()

    const millis = performance.now() - started
    const { method, status, state } = ctx
    const { routeName: route = 'none', failure } = state
    metrics.answered(route, method, status, millis / 1000)
    const line = {
      requestId,
      route,
      method,
      status,
      millis: Math.round(millis * 10) / 10,
      realm: state.realm?.name,
      clientId: state.client?.clientId,
      cause: state.cause,
      ...failure,
    }
    if (!failure) log.info(line, 'answered')
    else if (failure.overload !== undefined) logOverload(failure.overload, line)
    else if (status >= 500) log.error(line, 'not answered')
    else log.info(line, 'refused')
  }
}
