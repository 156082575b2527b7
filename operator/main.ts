import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Logger } from 'pino'
import type { OperatorConfig } from '../process/settings.ts'
import { serveHealth } from '../process/health.ts'
import { releaseMemory } from '../process/release_memory.ts'
import { createPool } from '../store/db.ts'
import { importLicenseKey } from '../keyring/license.ts'
import type { LicenseKey } from '../keyring/license.ts'
import { DEVELOPMENT } from './enforcement/approval_enforcement.ts'
import { processClock } from '../kubernetes/clock.ts'
import type { Clock } from '../kubernetes/clock.ts'
import { keepRoleLive } from './realm/keyring/keep_role_live.ts'
import { createLeadership } from './leadership/leadership.ts'
import { createOperatorMetrics } from './metrics.ts'
import type { ClusterSurroundings } from './source/on_cluster.ts'
import { onDirectory, onSource } from './source/on_directory.ts'
import { OperatorConfigError } from './operator_config_error.ts'
import type { Origin } from './source/origin.ts'
import { passwordHasher } from './user/password_hash.ts'
import { KINDS } from './source/resource.ts'
import type { Kind } from './source/resource.ts'
import type { ResourceSource } from './source/resource_source.ts'
import { takeTurns } from './leadership/turns.ts'

export interface RunningOperator {
  /** Health and metrics. */
  healthPort: number
  /** Resolves when it cannot go on: another operator leads, or the database is too new. The message says which. */
  failed: Promise<Error>
  /** What has begun is finished, nothing else begins. */
  stop(): Promise<void>
}

export interface OperatorSurroundings {
  log: Logger
  now: () => Date
  /** Default: what the configuration names, a directory or a cluster. */
  source?: ResourceSource
  random?: () => number
  clock?: Clock
}

/**
 * Starts the operator. Postgres may be away: the process stays up, not ready, until it comes.
 * @throws ListenError, OperatorConfigError, KubeConfigError, LicenseKeyError, and DirectoryLocked or StateError when the
 * directory cannot be used
 */
export async function runOperator(
  config: OperatorConfig,
  surroundings: OperatorSurroundings,
): Promise<RunningOperator> {
  const { log, now, random = Math.random, clock = processClock } = surroundings
  const licenseKeys = readLicenseKeys(config.licenseKeys)
  const acceptEmpty = kindsIn(config.acceptEmpty)
  const holder = `${hostname()}-${randomBytes(4).toString('hex')}`
  const origin = surroundings.source
    ? onSource(surroundings.source)
    : await configuredOrigin(config, { holder, log, now, clock, random })
  const { source } = origin
  // Files are read at once, and what is wrong with them ends the start; an API server may be waited for.
  if (!origin.mayBeAway) await source.start()
  const pool = createPool({
    connectionString: config.databaseUrl,
    applicationName: 'realmkeeper-operator',
    // One for each worker, and some to read with.
    maxConnections: 20,
    // All rows of a table are read at once.
    queryTimeoutMillis: 10_000,
    onError: (error) => log.warn({ err: error }, 'a connection to PostgreSQL was lost'),
  })

  const metrics = createOperatorMetrics(source, (kind) => turns.stats(kind))
  const turns = takeTurns({
    elect: origin.elect,
    source,
    lead(sourceOfTurn) {
      const enforcement = origin.watchApprovals?.()
      return createLeadership({
        pool,
        databaseUrl: config.databaseUrl,
        source: sourceOfTurn,
        holder,
        acceptEmpty,
        resyncMillis: config.resyncSeconds * 1_000,
        metrics,
        clock,
        random,
        now,
        log,
        enforcement,
        reconcilers: {
          secrets: origin.secrets(),
          passwords: passwordHasher(),
          log,
          baseUrl: config.baseUrl,
          keyringNamespace: config.keyringNamespace,
          licenseKeys,
          approvalEnforcement: () => enforcement?.current() ?? DEVELOPMENT,
        },
      })
    },
  })
  const keepingRole =
    origin.keyringRole &&
    keepRoleLive({
      role: origin.keyringRole,
      db: pool,
      keyringNamespace: config.keyringNamespace,
      leads: () => turns.state() === 'leads',
      clock,
      log,
    })
  const health = await serveHealth({
    host: config.listenHost,
    port: config.healthPort,
    flag: '--health-listen-port',
    registry: metrics.registry,
    checks: [
      { name: 'postgres', check: () => pool.query('select 1').then(() => undefined) },
      ...(origin.problem ? [{ name: 'watches', check: async () => origin.problem?.() }] : []),
      // Who stands by is ready to: a rollout waits for it before it ends the one that leads.
      { name: 'reconciling', check: async () => (turns.state() === 'starts' ? 'it does not lead yet' : undefined) },
    ],
  }).catch(async (error: unknown) => {
    await source.stop()
    origin.close()
    await pool.end()
    throw error
  })
  let isStopping = false
  const begun = beginTurns()
  // Files: what follows is under way when this resolves.
  if (!origin.mayBeAway) await begun
  log.info({ healthPort: health.port }, 'the operator started')

  async function beginTurns(): Promise<void> {
    if (origin.mayBeAway) await source.start()
    releaseMemory()
    if (!isStopping) turns.begin()
  }

  return {
    healthPort: health.port,
    failed: turns.failed,
    async stop() {
      isStopping = true
      health.drain()
      await keepingRole?.stop()
      await turns.stop()
      await source.stop()
      await begun
      origin.close()
      await pool.end()
      await health.close()
    },
  }
}

/** Loaded only where it is needed: the Kubernetes client is most of the memory of a small process. */
async function configuredOrigin(config: OperatorConfig, surroundings: ClusterSurroundings): Promise<Origin> {
  if (config.dir !== undefined || config.stateDir !== undefined) return onDirectory(config, surroundings)
  const { onCluster } = await import('./source/on_cluster.ts')
  return onCluster(config, surroundings)
}

function kindsIn(listed: string | undefined): Kind[] {
  return (listed?.split(',') ?? []).map((text) => {
    const kind = KINDS.find((each) => each === text.trim())
    if (!kind) throw new OperatorConfigError(`--accept-empty: must list kinds, ${KINDS.join(', ')}`)
    return kind
  })
}

function readLicenseKeys(file: string | undefined): LicenseKey[] {
  if (file === undefined) return []
  const keys = keysIn(file)
  for (const key of keys) importLicenseKey(key)
  return keys
}

function keysIn(file: string): LicenseKey[] {
  try {
    const set: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (typeof set === 'object' && set !== null && 'keys' in set && Array.isArray(set.keys)) return set.keys
  } catch (error) {
    // The parser's message would quote the file.
    const why = error instanceof SyntaxError ? 'it is not JSON' : 'it cannot be read'
    throw new OperatorConfigError(`--license-keys ${file}: ${why}`)
  }
  throw new OperatorConfigError(`--license-keys ${file}: it is not a JWK Set, an object with the member "keys"`)
}
