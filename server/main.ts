import { randomBytes } from 'node:crypto'
import type { Server } from 'node:http'
import { Server as NetServer } from 'node:net'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Counter } from 'prom-client'
import type { Logger } from 'pino'
import { apiServerOfPod } from '../process/config.ts'
import type { ServerConfig } from '../process/settings.ts'
import { serveHealth } from '../process/health.ts'
import type { ReadinessCheck } from '../process/health.ts'
import { listen } from '../process/listen.ts'
import { overloadLog } from '../process/log.ts'
import { PlainError } from '../process/plain_error.ts'
import { createPool, isUntrusted } from '../store/db.ts'
import type { Db } from '../store/db.ts'
import { requireSchema, SchemaMismatch, schemaState } from '../store/schema/migrate.ts'
import { createApp } from './app.ts'
import { clientAddresses } from './http/client_address.ts'
import { startDeps } from './deps.ts'
import type { Deps, RunningDeps } from './deps.ts'
import { inClusterAccess } from '../kubernetes/access.ts'
import type { AccessSource } from '../kubernetes/access.ts'
import { callCounter } from '../kubernetes/call_counter.ts'
import type { CountCall } from '../kubernetes/call_counter.ts'
import { processClock } from '../kubernetes/clock.ts'
import { clusterKeyrings } from './keyrings/cluster_keyrings.ts'
import { directoryKeyrings } from './keyrings/directory_keyrings.ts'
import type { KeyringSource } from './keyrings/keyring_source.ts'
import { createListener } from './http/listener.ts'
import { createServerMetrics } from './metrics.ts'
import type { ServerMetrics } from './metrics.ts'
import { routes } from './routes.ts'
import { securityHeaders } from './http/headers.ts'

export interface RunningServer {
  /** The public port, as the system chose it when 0 was configured. */
  port: number
  /** Health and metrics. */
  healthPort: number
  /** Resolves when the server has read realms, clients and keyrings for the first time. */
  warm: Promise<void>
  /** Turns not ready, refuses new connections, and waits up to `shutdownSeconds` for requests under way. */
  stop(): Promise<void>
}

/** An unusable configuration; the message says what to change. */
export class ServerConfigError extends PlainError {
  override readonly name = 'ServerConfigError'
}

/**
 * Starts a server. While Postgres is unavailable the process stays up and is not ready.
 * @throws ListenError, SchemaMismatch when the database is too new for this process, ServerConfigError, ApiAccessError
 */
export async function runServer(config: ServerConfig, { now, log }: Pick<Deps, 'now' | 'log'>): Promise<RunningServer> {
  const apiCalls = callCounter()
  const keyringSource = await configuredKeyrings(config, log, apiCalls.count)
  const pool = createPool({
    connectionString: config.databaseUrl,
    applicationName: 'realmkeeper-server',
    maxConnections: config.databaseConnections,
    onError: (error) => log.warn({ err: error }, 'a connection to PostgreSQL was lost'),
  })
  try {
    await refuseNewerSchema(pool, log)
  } catch (error) {
    keyringSource.close()
    await pool.end()
    throw isUntrusted(error) ? new ServerConfigError(`--database-url cannot be trusted: ${error.message}`) : error
  }
  const replicaId = `${hostname()}-${randomBytes(4).toString('hex')}`
  const running = startDeps({ config, pool, keyringSource, replicaId, now, log })
  try {
    return await serve(config, running, apiCalls.counter, log)
  } catch (error) {
    await running.stop()
    throw error
  }
}

/**
 * Checks the schema once. A database that does not answer is checked again by the readiness check.
 * @throws SchemaMismatch when the schema is too new for this process; an error for which `isUntrusted` holds
 */
async function refuseNewerSchema(db: Db, log: Logger): Promise<void> {
  try {
    await schemaState(db)
  } catch (error) {
    if (error instanceof SchemaMismatch || isUntrusted(error)) throw error
    log.warn({ err: error }, 'PostgreSQL does not answer: the server starts, and becomes ready when PostgreSQL answers')
  }
}

async function configuredKeyrings(config: ServerConfig, log: Logger, countCall: CountCall): Promise<KeyringSource> {
  const { keyringDir, kubeconfig } = config
  if (keyringDir !== undefined) return directoryKeyrings(keyringDir)
  const access = kubeconfig === undefined ? accessOfPod() : await accessOfFile(kubeconfig)
  // Reports unusable credentials at the start, and not with the first keyring.
  await access.read()
  const timings = { stallMillis: config.watchStallSeconds * 1_000 }
  return clusterKeyrings({ access, clock: processClock, log, random: Math.random, timings, countCall })
}

function accessOfPod(): AccessSource {
  const address = apiServerOfPod()
  if (address) return inClusterAccess(address)
  throw new ServerConfigError(
    'keyrings are read from a cluster or from a folder: run in a pod, or give --kubeconfig (REALMKEEPER_KUBECONFIG) or ' +
      '--keyring-dir (REALMKEEPER_KEYRING_DIR)',
  )
}

/** Loaded only for --kubeconfig: `@kubernetes/client-node` would double the memory of a server in a pod. */
async function accessOfFile(file: string): Promise<AccessSource> {
  const { kubeconfigAccess } = await import('../kubernetes/kubeconfig_access.ts')
  return kubeconfigAccess({ file, unattended: true })
}

async function serve(
  config: ServerConfig,
  running: RunningDeps,
  apiCalls: Counter,
  log: Logger,
): Promise<RunningServer> {
  const { deps, mirror, keyrings, follower } = running
  const metrics = createServerMetrics({
    pool: deps.pool,
    passwordQueueLength: deps.passwords.length,
    refusedKeyrings: keyrings.refused,
    isFollowingChanges: follower.isFresh,
  })
  metrics.registry.registerMetric(apiCalls)
  const health = await serveHealth({
    host: config.listenHost,
    port: config.healthPort,
    flag: '--health-listen-port',
    registry: metrics.registry,
    log,
    checks: readinessChecks(running),
  })
  const draining = new AbortController()
  const server = httpServer(config, running, metrics, () => draining.signal.aborted)
  try {
    const port = await listen(server, { host: config.listenHost, port: config.listenPort, flag: '--listen-port' })
    log.info({ port, healthPort: health.port, replica: deps.auditWriter }, 'listening')
    return { port, healthPort: health.port, warm: warmUp(), stop }
  } catch (error) {
    await health.close()
    throw error
  }

  async function warmUp(): Promise<void> {
    await follower.caughtUp
    while (!draining.signal.aborted && !(mirror.isLoaded() && keyrings.isSettled())) await sleep(5)
  }

  async function stop(): Promise<void> {
    health.drain()
    draining.abort()
    await drain(server, config.shutdownSeconds * 1000)
    await running.stop()
    await health.close()
  }
}

function httpServer(
  config: ServerConfig,
  { deps }: RunningDeps,
  metrics: ServerMetrics,
  isDraining: () => boolean,
): Server {
  const logOverload = overloadLog(deps.log)
  const always = securityHeaders(config.baseUrl.startsWith('https:'))
  const app = createApp({
    log: deps.log,
    logOverload,
    metrics,
    routes: routes(deps),
    deps,
    addressOf: clientAddresses(config.trustedProxies),
    securityHeaders: always,
    isDraining,
  })
  const handle = app.callback()
  return createListener((req, res) => void handle(req, res), { always, onOverload: logOverload })
}

function readinessChecks({ deps, mirror, keyrings, follower }: RunningDeps): ReadinessCheck[] {
  return [
    { name: 'postgres', check: () => requireSchema(deps.pool).then(() => undefined) },
    { name: 'changes', check: async () => (follower.isFresh() ? undefined : 'the change log is not followed') },
    {
      name: 'keyrings',
      check: async () => (mirror.isLoaded() && keyrings.isSettled() ? undefined : 'keyrings are not read yet'),
    },
  ]
}

/** How long clients may send another request on an idle connection, which its answer then closes. */
const IDLE_GRACE_MILLIS = 3_000

/**
 * Accepts no new connection, waits for the requests under way, then closes every connection. An idle connection is closed
 * last: a request that is already on its way to it would be lost (RFC 9112 section 9.5).
 */
async function drain(server: Server, deadlineMillis: number): Promise<void> {
  const closed = new Promise<void>((resolve) => void server.once('close', resolve))
  const over = new AbortController()
  const after = (millis: number) => sleep(Math.max(0, millis), undefined, { signal: over.signal }).catch(() => {})
  const late = after(deadlineMillis - 1_000)
  // `close` of an HTTP server would close idle connections at once.
  NetServer.prototype.close.call(server)
  await Promise.race([closed, late, after(IDLE_GRACE_MILLIS)])
  server.close()
  await Promise.race([closed, late])
  over.abort()
  server.closeAllConnections()
  await closed
}
