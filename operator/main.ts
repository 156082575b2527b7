import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { Logger } from 'pino'
import { callCounter } from '../kubernetes/call_counter.ts'
import { processClock } from '../kubernetes/clock.ts'
import type { Clock } from '../kubernetes/clock.ts'
import { serveHealth } from '../process/health.ts'
import { releaseMemory } from './controller/release_memory.ts'
import type { OperatorConfig } from '../process/settings.ts'
import { createPool } from '../store/db.ts'
import { createLeadership } from './leadership/leadership.ts'
import { createOperatorMetrics } from './metrics.ts'
import { parseAcceptEmpty, readLicenseKeys, workersOf } from './operator_config.ts'
import type { ClusterSurroundings } from './source/on_cluster.ts'
import { onDirectory, onSource } from './source/on_directory.ts'
import type { Origin } from './source/origin.ts'
import type { ResourceSource } from './source/resource_source.ts'
import { passwordHasher } from './user/password_hash.ts'

export interface RunningOperator {
  /** Health and metrics. */
  healthPort: number
  /** Resolves when this process must end, with the reason: another operator leads, or the database is too new. */
  failed: Promise<Error>
  /** Starts nothing more, waits for what has begun, releases the Lease and closes every connection. */
  stop(): Promise<void>
}

export interface OperatorSurroundings {
  log: Logger
  now: () => Date
  /** By default the directory or the cluster that the configuration names. */
  source?: ResourceSource
  random?: () => number
  clock?: Clock
}

/**
 * Starts the operator. It needs neither Postgres nor the API server to start: it serves its health, is not ready, and
 * waits for them. Manifests in a directory are read before it returns.
 * @throws ListenError, ApiAccessError, LicenseKeyError, StateError, and PlainError for a wrong setting or when the
 * directory is in use
 */
export async function runOperator(
  config: OperatorConfig,
  surroundings: OperatorSurroundings,
): Promise<RunningOperator> {
  const { log, now, random = Math.random, clock = processClock } = surroundings
  const licenseKeys = await readLicenseKeys(config.licenseKeys)
  const acceptEmpty = parseAcceptEmpty(config.acceptEmpty)
  const workers = workersOf(config)
  const holder = `${hostname()}-${randomBytes(4).toString('hex')}`

  const apiCalls = callCounter()
  const origin = surroundings.source
    ? onSource(surroundings.source)
    : await configuredOrigin(config, { holder, log, now, clock, random, countCall: apiCalls.count })
  const { source, mayBeAway } = origin
  // A fault in the manifests ends the start. An API server that does not answer does not.
  if (!mayBeAway) await source.start()

  const pool = createPool({
    connectionString: config.databaseUrl,
    applicationName: 'realmkeeper-operator',
    // One for each worker, and two for reads.
    maxConnections: Object.values(workers).reduce((sum, each) => sum + each, 2),
    // A load reads all rows of a table at once.
    queryTimeoutMillis: 10_000,
    onError: (error) => log.warn({ err: error }, 'a connection to PostgreSQL was lost'),
  })
  const metrics = createOperatorMetrics({
    source,
    stats: (kind) => leadership.stats(kind),
    isLeading: () => leadership.state() === 'leading',
    watches: () => origin.watches?.() ?? [],
    now,
  })
  metrics.registry.registerMetric(apiCalls.counter)
  const leadership = createLeadership({
    origin,
    pool,
    migrateDatabaseUrl: config.migrateDatabaseUrl ?? config.databaseUrl,
    databaseRoles: { server: config.serverDatabaseRole, operator: config.operatorDatabaseRole },
    holder,
    acceptEmpty,
    acceptAuditBreak: config.acceptAuditBreak,
    workers,
    resyncMillis: config.resyncSeconds * 1_000,
    metrics,
    clock,
    random,
    now,
    log,
    reconcilers: {
      passwords: passwordHasher(),
      baseUrl: config.baseUrl,
      keyringNamespace: config.keyringNamespace,
      licenseKeys,
    },
  })

  const health = await serveHealth({
    host: config.listenHost,
    port: config.healthPort,
    flag: '--health-listen-port',
    registry: metrics.registry,
    log,
    checks: [
      { name: 'postgres', check: () => pool.query('select 1').then(() => undefined) },
      ...(origin.problem ? [{ name: 'watches', check: async () => origin.problem?.() }] : []),
      // A standby is ready: a rollout waits for it before it ends the leader.
      {
        name: 'reconciling',
        check: async () => (leadership.state() === 'starting' ? 'the controllers have not started yet' : undefined),
      },
    ],
  }).catch(async (error: unknown) => {
    await source.stop()
    origin.close()
    await pool.end()
    throw error
  })

  let isStopping = false
  const started = start()
  if (!mayBeAway) await started
  log.info({ healthPort: health.port }, 'the operator started')

  async function start(): Promise<void> {
    if (mayBeAway) await source.start()
    releaseMemory()
    if (!isStopping) leadership.start()
  }

  return {
    healthPort: health.port,
    failed: leadership.failed,
    async stop() {
      isStopping = true
      health.drain()
      await leadership.stop()
      await source.stop()
      await started
      origin.close()
      await pool.end()
      await health.close()
    },
  }
}

/** Imports the cluster source only when it is used: the Kubernetes client is most of the memory of a small process. */
async function configuredOrigin(config: OperatorConfig, surroundings: ClusterSurroundings): Promise<Origin> {
  if (config.dir !== undefined || config.stateDir !== undefined) return onDirectory(config, surroundings)
  const { onCluster } = await import('./source/on_cluster.ts')
  return onCluster(config, surroundings)
}
