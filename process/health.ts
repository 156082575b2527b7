import { createServer } from 'node:http'
import type { RequestListener, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { limitConnections } from './connections.ts'
import { listen } from './listen.ts'
import type { ListenAt } from './listen.ts'
import { overloadLog } from './log.ts'
import { errorText } from './loggable.ts'
import { isPlainError } from './plain_error.ts'

/** Something that the process needs in order to work. */
export interface ReadinessCheck {
  name: string
  /**
   * Resolves with undefined when it is well, else with the problem. Callers without rights read it, so it names no
   * address, user or version of another system. Of what is thrown, they read only what is plain (`isPlainError`).
   */
  check: () => Promise<string | undefined>
}

export interface Readiness {
  ready: boolean
  /** `ok` or the problem, by the name of the check. */
  checks: Record<string, string>
}

export interface Health {
  port: number
  readiness: () => Promise<Readiness>
  /** Reports not ready from now on, so that no further requests are routed here. */
  drain(): void
  close(): Promise<void>
}

export interface HealthOptions extends ListenAt {
  checks: ReadinessCheck[]
  registry: Registry
  log: Logger
  /** A check that takes longer counts as failed. */
  checkTimeoutMillis?: number
}

/** Far more than probes and scrapers need. One request for each connection. */
const LIMITS = { connections: 200, unanswered: 1 }
/** The kubelet gives up after a second by default. */
const IDLE_MILLIS = 2_000

const SHUTTING_DOWN: Readiness = { ready: false, checks: { process: 'shutting down' } }

/** Serves `/livez` (the event loop runs), `/readyz` (every check passes) and `/metrics`. Throws ListenError. */
export async function serveHealth(options: HealthOptions): Promise<Health> {
  let draining = false
  const causes = new Map<string, string>()
  const runShared = sharedChecks(() => runChecks(options, causes))
  const metrics = sharedMetrics(options.registry)
  const readiness = async (): Promise<Readiness> => (draining ? SHUTTING_DOWN : runShared())

  const routes: Record<string, (response: ServerResponse) => Promise<void>> = {
    async '/livez'(response) {
      answer(response, 200, 'text/plain; charset=utf-8', 'ok\n')
    },
    async '/readyz'(response) {
      const result = await readiness()
      const body = `${JSON.stringify(result, undefined, 2)}\n`
      answer(response, result.ready ? 200 : 503, 'application/json', body)
    },
    async '/metrics'(response) {
      answer(response, 200, options.registry.contentType, await metrics())
    },
  }

  const server = createServer({
    requestTimeout: IDLE_MILLIS,
    headersTimeout: IDLE_MILLIS,
    connectionsCheckingInterval: IDLE_MILLIS / 4,
    maxHeaderSize: 8_192,
  })
  server.setTimeout(IDLE_MILLIS * 2)
  const handleRequest: RequestListener = (request, response) => {
    const path = (request.url ?? '').split('?', 1)[0] ?? ''
    const handle = Object.hasOwn(routes, path) ? routes[path] : undefined
    if (!handle) return answer(response, 404, 'text/plain; charset=utf-8', 'not found\n')
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD')
      return answer(response, 405, 'text/plain; charset=utf-8', 'method not allowed\n')
    }
    handle(response).catch(() => answer(response, 500, 'text/plain; charset=utf-8', 'error\n'))
  }
  const logOverload = overloadLog(options.log)
  limitConnections(server, LIMITS, handleRequest, (what) => logOverload(`health_${what}`))

  return {
    port: await listen(server, options),
    readiness,
    drain() {
      draining = true
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

/** Probes that arrive while the checks run share their result, so that they do not pile up on a slow database. */
function sharedChecks(run: () => Promise<Readiness>): () => Promise<Readiness> {
  let running: Promise<Readiness> | undefined
  return () => {
    running ??= run().finally(() => {
      running = undefined
    })
    return running
  }
}

/** The share of time that may be spent on metrics, and how much of it may be saved up. Any pod may ask without a pause. */
const METRICS_SHARE = 0.1
const METRICS_SAVED_MILLIS = 1_000

/**
 * Collecting takes longer with each resource of the operator. While it has taken more than its share, callers get the
 * latest text.
 */
function sharedMetrics(registry: Registry): () => Promise<string> {
  let latest: Promise<string> | undefined
  let isCollecting = false
  let left = METRICS_SAVED_MILLIS
  let at = performance.now()
  return () => {
    const begun = performance.now()
    left = Math.min(METRICS_SAVED_MILLIS, left + METRICS_SHARE * (begun - at))
    at = begun
    if (latest && (isCollecting || left <= 0)) return latest
    isCollecting = true
    const end = (): void => {
      isCollecting = false
      left -= performance.now() - begun
    }
    latest = registry.metrics()
    latest.then(end, end)
    return latest
  }
}

/** @param logged the last cause by the name of its check: probes come every few seconds, and each cause is logged once */
async function runChecks(options: HealthOptions, logged: Map<string, string>): Promise<Readiness> {
  const { checks, checkTimeoutMillis = 2_000, log } = options
  const results = await Promise.all(
    checks.map(async ({ name, check }) => {
      try {
        const problem = await resultOf(check, checkTimeoutMillis)
        logged.delete(name)
        return [name, problem ?? 'ok'] as const
      } catch (error) {
        const cause = errorText(error, 300)
        if (logged.get(name) !== cause) log.warn({ err: error, check: name }, 'a readiness check failed')
        logged.set(name, cause)
        return [name, isPlainError(error) ? cause : 'failed; the log of this process has the cause'] as const
      }
    }),
  )
  return { ready: results.every(([, result]) => result === 'ok'), checks: Object.fromEntries(results) }
}

async function resultOf(check: ReadinessCheck['check'], timeoutMillis: number): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`no answer within ${timeoutMillis} ms`), timeoutMillis)
  })
  try {
    return await Promise.race([check(), late])
  } finally {
    clearTimeout(timer)
  }
}

function answer(response: ServerResponse, status: number, contentType: string, body: string): void {
  response.writeHead(status, {
    'Content-Type': contentType,
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    // An idle connection would keep a probe out.
    Connection: 'close',
  })
  response.end(response.req.method === 'HEAD' ? undefined : body)
}
