import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Logger } from 'pino'
import type { OperatorConfig } from '../process/config.ts'
import { serveHealth } from '../process/health.ts'
import { releaseMemory } from '../process/release_memory.ts'
import { createPool } from '../store/db.ts'
import { importLicenseKey } from '../store/license.ts'
import type { LicenseKey } from '../store/license.ts'
import { DEVELOPMENT } from './approval_enforcement.ts'
import { processClock } from './clock.ts'
import type { Clock } from './clock.ts'
import { createLeadership } from './leadership.ts'
import { createOperatorMetrics } from './metrics.ts'
import { passwordHasher } from './password_hash.ts'
import { directorySource } from './source/directory/directory_source.ts'
import { problemText } from './source/directory/problem.ts'
import { KINDS, keyText } from './source/resource.ts'
import type { Kind } from './source/resource.ts'
import type { ResourceSource } from './source/resource_source.ts'

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
  /** Default: the directory of the configuration. */
  source?: ResourceSource
  random?: () => number
  clock?: Clock
}

/** The configuration cannot be used; the message says what to change. */
export class OperatorConfigError extends Error {
  override readonly name = 'OperatorConfigError'
}

/**
 * Starts the operator. Postgres may be away: the process stays up, not ready, until it comes.
 * @throws ListenError, OperatorConfigError, LicenseKeyError, and StateError when the directory cannot be used
 */
export async function runOperator(
  config: OperatorConfig,
  surroundings: OperatorSurroundings,
): Promise<RunningOperator> {
  const { log, now, random = Math.random, clock = processClock } = surroundings
  const licenseKeys = readLicenseKeys(config.licenseKeys)
  const acceptEmpty = kindsIn(config.acceptEmpty)
  const source = surroundings.source ?? configuredSource(config, { log, now })
  await source.start()
  releaseMemory()
  const pool = createPool({
    connectionString: config.databaseUrl,
    applicationName: 'realmkeeper-operator',
    // One for each worker, and some to read with.
    maxConnections: 20,
    // All rows of a table are read at once.
    queryTimeoutMillis: 10_000,
    onError: (error) => log.warn({ err: error }, 'a connection to PostgreSQL was lost'),
  })

  const leadership = createLeadership({
    pool,
    databaseUrl: config.databaseUrl,
    source,
    holder: `${hostname()}-${randomBytes(4).toString('hex')}`,
    acceptEmpty,
    metrics: createOperatorMetrics(source, (kind) => leadership.stats(kind)),
    clock,
    random,
    now,
    log,
    reconcilers: {
      secrets: source.secrets,
      passwords: passwordHasher(),
      log,
      baseUrl: config.baseUrl,
      keyringNamespace: config.keyringNamespace,
      licenseKeys,
      approvalEnforcement: () => DEVELOPMENT,
    },
  })
  const health = await serveHealth({
    host: config.listenHost,
    port: config.healthPort,
    flag: '--health-listen-port',
    registry: leadership.metrics.registry,
    checks: [
      { name: 'postgres', check: () => pool.query('select 1').then(() => undefined) },
      { name: 'reconciling', check: async () => (leadership.isLeading() ? undefined : 'it does not lead yet') },
    ],
  }).catch(async (error: unknown) => {
    await source.stop()
    await pool.end()
    throw error
  })
  leadership.begin()
  log.info({ healthPort: health.port }, 'the operator started')

  return {
    healthPort: health.port,
    failed: leadership.failed,
    async stop() {
      health.drain()
      await leadership.stop()
      await source.stop()
      await pool.end()
      await health.close()
    },
  }
}

function configuredSource(config: OperatorConfig, { log, now }: { log: Logger; now: () => Date }): ResourceSource {
  const { dir, stateDir } = config
  if (dir === undefined || stateDir === undefined) {
    throw new OperatorConfigError('--dir and --state-dir are required: resources are read from a folder')
  }
  return directorySource({
    directory: dir,
    stateDir,
    now,
    report: (problem) => log.error({ file: problem.file, line: problem.line }, problemText(problem)),
    recordEvent: (key, { type, reason, message }) => {
      const about = { resource: keyText(key), reason }
      if (type === 'Warning') log.warn(about, message)
      else log.info(about, message)
    },
  })
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
