import type { Logger } from 'pino'
import type { Pool } from 'pg'
import { isUnavailable } from '../../store/db.ts'
import { migrate } from '../../store/migrate.ts'
import { takeEpoch } from '../../store/operator_epoch.ts'
import type { Clock } from '../../kubernetes/clock.ts'
import type { ReconcilerDeps } from '../deps.ts'
import type { ApprovalWatch } from '../enforcement/approval_watch.ts'
import type { OperatorMetrics } from '../metrics.ts'
import { backoffMillis } from '../controller/queue.ts'
import type { QueueStats } from '../controller/queue.ts'
import { startReconciling } from './reconciling.ts'
import type { Reconciling } from './reconciling.ts'
import { createRows } from '../rows/rows.ts'
import type { Kind } from '../source/resource.ts'
import type { ResourceSource } from '../source/resource_source.ts'
import { PostgresAway, storeAccess } from '../rows/store_access.ts'

export interface LeadershipOptions {
  pool: Pool
  databaseUrl: string
  source: ResourceSource
  /** Names this process, in the epoch and in audit chains. */
  holder: string
  acceptEmpty: readonly Kind[]
  resyncMillis: number
  metrics: OperatorMetrics
  clock: Clock
  random: () => number
  now: () => Date
  log: Logger
  reconcilers: Omit<ReconcilerDeps, 'store' | 'rows'>
  /** Where decisions are held by admission policies; `reconcilers.approvalEnforcement` is its `current`. */
  enforcement?: ApprovalWatch | undefined
}

/** The way from a started process to one that writes: schema, epoch, rows, work. */
export interface Leadership {
  begin(): void
  isLeading(): boolean
  /** Resolves when this process must not go on. */
  failed: Promise<Error>
  metrics: OperatorMetrics
  stats(kind: Kind): QueueStats | undefined
  stop(): Promise<void>
}

const FIRST_RETRY_MILLIS = 250
const LONGEST_RETRY_MILLIS = 4_000

export function createLeadership(options: LeadershipOptions): Leadership {
  const { pool, databaseUrl, source, holder, metrics, clock, random, now, log } = options
  const failure = Promise.withResolvers<Error>()
  let reconciling: Reconciling | undefined
  const stopping = Promise.withResolvers<void>()
  let stopped = false
  let trying: Promise<void> = Promise.resolve()
  let cancelRetry = (): void => {}

  async function lead(): Promise<Reconciling> {
    const applied = await migrate(databaseUrl)
    if (applied.length > 0) log.info({ migrations: applied }, 'the schema was brought up to date')
    const epoch = await takeEpoch(pool, holder)
    log.info({ epoch }, 'this operator leads')
    // After the fence: whatever the former leader wrote into rows, its resource is known by now.
    await Promise.race([source.catchUp?.(), stopping.promise])
    if (stopped) throw new Error('stopped before it began')
    const store = storeAccess({ pool, epoch, now, auditWriter: `operator/${holder}` })
    const rows = createRows()
    const deps = { ...options.reconcilers, store, rows }
    const { acceptEmpty, resyncMillis, enforcement } = options
    const surroundings = { source, deps, rows, metrics, log, clock, random }
    return startReconciling({ ...surroundings, acceptEmpty, resyncMillis, enforcement, onDeposed: fail })
  }

  async function attempt(failures: number): Promise<void> {
    try {
      const started = await lead()
      if (stopped) await started.stop()
      else reconciling = started
    } catch (error) {
      if (stopped) return
      if (!(error instanceof PostgresAway) && !isUnavailable(error)) {
        fail(error instanceof Error ? error : new Error(String(error)))
        return
      }
      if (failures === 0) log.warn({ err: error }, 'PostgreSQL does not answer: the operator waits for it')
      const millis = backoffMillis(failures + 1, FIRST_RETRY_MILLIS, LONGEST_RETRY_MILLIS, random)
      cancelRetry = clock.after(millis, () => {
        trying = attempt(failures + 1)
      })
    }
  }

  /** Nothing is written any more; whoever started this process ends it. */
  function fail(error: Error): void {
    failure.resolve(error)
  }

  return {
    metrics,
    failed: failure.promise,
    begin() {
      trying = attempt(0)
    },
    isLeading: () => reconciling !== undefined,
    stats: (kind) => reconciling?.stats(kind),
    async stop() {
      stopped = true
      stopping.resolve()
      cancelRetry()
      await trying
      await reconciling?.stop()
      // Also where it had begun, and what comes after it failed.
      await options.enforcement?.stop()
    },
  }
}
