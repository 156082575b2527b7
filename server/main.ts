import { randomBytes } from 'node:crypto'
import { availableParallelism, hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Pool } from 'pg'
import type { ServerConfig } from '../process/config.ts'
import { serveHealth } from '../process/health.ts'
import type { Health } from '../process/health.ts'
import { listen } from '../process/listen.ts'
import { createPool } from '../store/db.ts'
import type { Db } from '../store/db.ts'
import { SchemaMismatch, schemaState } from '../store/migrate.ts'
import { createApp } from './app.ts'
import { followChanges } from './change_follower.ts'
import { clientAddresses } from './client_address.ts'
import type { Deps } from './deps.ts'
import { createFailedDecrypts } from './encryption/failed_decrypts.ts'
import { directoryKeyrings } from './keyrings/directory_keyrings.ts'
import { createKeyrings } from './keyrings/keyrings.ts'
import { createListener } from './listener.ts'
import { createLiveSessionReader } from './live_sessions.ts'
import { createServerMetrics } from './metrics.ts'
import { createPasswords } from './passwords/passwords.ts'
import { createLoginLimit } from './rate_limit.ts'
import { createRealmMirror } from './realm_mirror.ts'
import { createRealms } from './realms.ts'
import { startReplicaHeartbeat } from './replica_heartbeat.ts'
import { createRouter } from './router.ts'
import { routes } from './routes.ts'
import { createVerifiedTokens } from './tokens/verified_tokens.ts'

/** What is handed down to a server from outside. */
export interface Surroundings {
  now: () => Date
  log: Logger
}

export interface RunningServer {
  /** The public port, as the system chose it when 0 was configured. */
  port: number
  /** Health and metrics. */
  healthPort: number
  /** Resolves when realms, clients and keyrings were read for the first time. */
  warm: Promise<void>
  /** Not ready any more, then no new connections, then the end of what is under way; bounded by `shutdownSeconds`. */
  stop(): Promise<void>
}

/** The configuration cannot be used; the message says what to change. */
export class ServerConfigError extends Error {
  override readonly name = 'ServerConfigError'
}

/**
 * Starts a server. Postgres may be away: the process stays up, not ready, until it comes.
 * @throws ListenError, SchemaMismatch when the database is too new for this process, ServerConfigError
 */
export async function runServer(config: ServerConfig, { now, log }: Surroundings): Promise<RunningServer> {
  if (config.keyringDir === undefined) {
    throw new ServerConfigError(
      '--keyring-dir (REALMKEEPER_KEYRING_DIR) is required: keyrings are read from a directory',
    )
  }
  const replicaId = `${hostname()}-${randomBytes(4).toString('hex')}`
  const pool = createPool({
    connectionString: config.databaseUrl,
    applicationName: 'realmkeeper-server',
    maxConnections: config.databaseConnections,
    onError: (error) => log.warn({ err: error }, 'a connection to PostgreSQL was lost'),
  })
  await refuseNewerSchema(pool, log)

  const keyrings = createKeyrings({
    source: directoryKeyrings(config.keyringDir),
    pool,
    now,
    log,
    onLoaded: () => heartbeat.beatNow(),
  })
  const heartbeat = startReplicaHeartbeat({
    id: replicaId,
    pool,
    now,
    log,
    fingerprints: keyrings.fingerprints,
    onBeat: keyrings.retryRefused,
  })
  const mirror = createRealmMirror(() => keyrings.follow(mirror.realms()))
  const follower = followChanges({
    connectionString: config.databaseUrl,
    log,
    catchUp: async (db) => {
      if (!mirror.isLoaded()) await requireSchema(db)
      await mirror.catchUp(db)
    },
  })
  const realms = createRealms({
    pool,
    baseUrl: config.baseUrl,
    mirror,
    isFresh: follower.isFresh,
    keyringOf: keyrings.get,
  })
  const passwords = createPasswords({ concurrency: availableParallelism(), log })

  const deps: Deps = {
    pool,
    now,
    log,
    realms,
    findLiveSession: createLiveSessionReader(pool, now),
    verifiedTokens: createVerifiedTokens(),
    failedDecrypts: createFailedDecrypts(config.failedDecryptsPerSubject),
    passwords,
    loginLimits: {
      byAddress: createLoginLimit(config.failedLoginsPerAddress),
      byClient: createLoginLimit(config.failedLoginsPerClient),
    },
    auditWriter: `server/${replicaId}`,
  }
  const metrics = createServerMetrics({
    pool,
    passwordQueueLength: passwords.length,
    refusedKeyrings: keyrings.refused,
    isFollowingChanges: follower.isFresh,
  })
  let isDraining = false
  const app = createApp({
    log,
    metrics,
    realms,
    findPlace: createRouter(routes(deps)),
    addressOf: clientAddresses(config.trustedProxies),
    isHttps: config.baseUrl.startsWith('https:'),
    isDraining: () => isDraining,
  })
  const server = createListener(app.callback())

  async function stopParts(): Promise<void> {
    await heartbeat.stop()
    await follower.stop()
    keyrings.close()
    await pool.end()
  }

  let health: Health | undefined
  try {
    health = await serveHealth({
      host: config.listenHost,
      port: config.healthPort,
      flag: '--health-listen-port',
      registry: metrics.registry,
      checks: [
        { name: 'postgres', check: () => checkPostgres(pool) },
        { name: 'changes', check: async () => (follower.isFresh() ? undefined : 'the change log is not followed') },
        {
          name: 'keyrings',
          check: async () => (mirror.isLoaded() && keyrings.isSettled() ? undefined : 'keyrings are not read yet'),
        },
      ],
    })
    const port = await listen(server, { host: config.listenHost, port: config.listenPort, flag: '--listen-port' })
    const { port: healthPort, drain, close } = health
    log.info({ port, healthPort, replica: replicaId }, 'the server listens')
    return {
      port,
      healthPort,
      warm: warmUp(),
      async stop() {
        drain()
        isDraining = true
        await drained(server, config.shutdownSeconds * 1000)
        await stopParts()
        await close()
      },
    }
  } catch (error) {
    await health?.close()
    await stopParts()
    throw error
  }

  async function warmUp(): Promise<void> {
    await follower.caughtUp
    while (!keyrings.isSettled()) await sleep(5)
  }
}

/** Everything that is under way ends by itself, or with the deadline. */
async function drained(server: ReturnType<typeof createListener>, deadlineMillis: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  const deadline = new AbortController()
  const late = sleep(Math.max(0, deadlineMillis - 1_000), undefined, { signal: deadline.signal }).catch(() => {})
  await Promise.race([closed, late])
  deadline.abort()
  server.closeAllConnections()
  await closed
}

/** A database that cannot be asked now is asked again by whoever waits for it. */
async function refuseNewerSchema(pool: Pool, log: Logger): Promise<void> {
  try {
    await schemaState(pool)
  } catch (error) {
    if (!(error instanceof SchemaMismatch)) {
      log.warn({ err: error }, 'PostgreSQL does not answer; the server starts, and is ready when it does')
      return
    }
    await pool.end()
    throw error
  }
}

async function requireSchema(db: Db): Promise<void> {
  if ((await schemaState(db)) === 'current') return
  throw new Error('the schema is older than this process: the operator, or "realmkeeper migrate", brings it up to date')
}

async function checkPostgres(pool: Pool): Promise<string | undefined> {
  if ((await schemaState(pool)) === 'behind') return 'the schema is older than this process'
  return undefined
}
