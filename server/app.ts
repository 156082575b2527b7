import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import Koa from 'koa'
import type { Logger } from 'pino'
import { ClientGone } from './http/read_body.ts'
import { ANY_ORIGIN, corsHeaders } from './http/cors.ts'
import { handleRequest } from './http/handle_request.ts'
import type { HandleDeps, Handled } from './http/handle_request.ts'
import type { HttpAnswer } from './http/http.ts'
import { renderError } from './http/oauth_error.ts'
import type { RenderedError } from './http/oauth_error.ts'
import type { ServerMetrics } from './metrics.ts'

export interface AppOptions extends HandleDeps {
  log: Logger
  metrics: Pick<ServerMetrics, 'answered'>
  /** Headers of every answer. */
  always: Readonly<Record<string, string>>
  /** While true, connections are closed with their next answer. */
  isDraining: () => boolean
}

/** The outermost layer: every request gets one answer with all its headers, and one line in the log. */
export function createApp(options: AppOptions): Koa {
  const { log, metrics, always, isDraining } = options

  const app = new Koa()
  app.use(async (ctx) => {
    const { req, res } = ctx
    // Written below as it is: Koa's own rendering would look at each body's type again.
    ctx.respond = false
    const id = randomUUID()
    const started = performance.now()
    const handled: Handled = { route: 'none' }
    let answer: HttpAnswer
    let failure: RenderedError | undefined
    try {
      answer = await handleRequest(req, id, options, handled)
    } catch (error) {
      if (error instanceof ClientGone) {
        res.destroy()
        return
      }
      failure = renderError(error)
      answer = failure.answer
    }
    const cors = handled.isPublic ? ANY_ORIGIN : corsHeaders(req.headers.origin, handled.request?.corsClient)
    const closing = isDraining() ? CLOSING : undefined
    write(res, answer, { ...always, 'X-Request-Id': id, ...cors, ...closing })

    const millis = performance.now() - started
    metrics.answered(handled.route, req.method ?? '', answer.status, millis / 1000)
    writeLine(log, req, id, handled, answer, failure, millis)
  })
  app.on('error', (error: unknown) => {
    // Anybody can hang up at any time; that is no alarm.
    if (isHangUp(error)) log.debug({ err: error }, 'the caller was gone before the answer')
    else log.error({ err: error }, 'an answer could not be sent')
  })
  return app
}

const NOT_KEPT = { 'Cache-Control': 'no-store', Pragma: 'no-cache' }
const CLOSING = { Connection: 'close' }

function write(res: ServerResponse, { status, headers, body }: HttpAnswer, common: Record<string, string>): void {
  const kept = headers?.['Cache-Control'] === undefined ? NOT_KEPT : undefined
  if (body === undefined) {
    res.writeHead(status, { ...common, ...kept, ...headers })
    res.end()
    return
  }
  const content = Buffer.from(JSON.stringify(body), 'utf8')
  res.writeHead(status, {
    ...common,
    ...kept,
    ...headers,
    'Content-Type': 'application/json',
    'Content-Length': content.length,
  })
  res.end(content)
}

function writeLine(
  log: Logger,
  req: IncomingMessage,
  requestId: string,
  { route, request }: Handled,
  answer: HttpAnswer,
  failure: RenderedError | undefined,
  millis: number,
): void {
  const line = {
    requestId,
    route,
    method: req.method,
    status: answer.status,
    millis: Math.round(millis * 10) / 10,
    realm: request?.realm.name,
    clientId: request?.corsClient?.clientId,
  }
  if (!failure) log.info({ ...line, cause: answer.cause }, 'answered')
  else if (answer.status >= 500) log.error({ ...line, ...failure.log }, 'not answered')
  else log.info({ ...line, ...failure.log }, 'refused')
}

function isHangUp(error: unknown): boolean {
  return error instanceof Error && 'code' in error && HUNG_UP.has(String(error.code))
}

const HUNG_UP = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'ETIMEDOUT', 'ERR_STREAM_PREMATURE_CLOSE'])
