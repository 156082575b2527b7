import { aborted } from 'node:util'
import type { Logger } from 'pino'
import type { Pool } from 'pg'
import { backoffMillis, pause } from '../../kubernetes/clock.ts'
import type { Clock } from '../../kubernetes/clock.ts'
import { isUnavailable } from '../../store/db.ts'
import type { DatabaseRoles } from '../../store/schema/database_roles.ts'
import { migrate, SchemaBehind } from '../../store/schema/migrate.ts'
import { takeEpoch } from '../../store/operator/epoch.ts'
import type { QueueStats } from '../controller/queue.ts'
import { auditSigning } from '../audit/audit_signing.ts'
import type { AuditSigning } from '../audit/audit_signing.ts'
import { runResync } from '../controller/resync.ts'
import { startControllers } from '../controllers.ts'
import type { Controllers } from '../controllers.ts'
import type { ReconcilerDeps } from '../deps.ts'
import type { EnforcementCheck } from '../enforcement/enforcement_check.ts'
import { DEVELOPMENT } from '../enforcement/approval_enforcement.ts'
import type { OperatorMetrics } from '../metrics.ts'
import type { Workers } from '../operator_config.ts'
import { runKeyringRolePruning } from '../realm/keyring/keyring_role.ts'
import { driftReport } from '../rows/drift.ts'
import { listIdentitiesOf } from '../rows/list_identities.ts'
import { outsideScope } from '../rows/outside_scope.ts'
import { runRemainingDeletions } from '../rows/remaining_deletions.ts'
import { createRows } from '../rows/rows.ts'
import { PostgresAway, storeAccess } from '../rows/store_access.ts'
import { sweepRows } from '../rows/sweep.ts'
import type { Origin } from '../source/origin.ts'
import type { Kind } from '../source/resource.ts'
import type { RoleAssignmentResource } from '../view/resource_types.ts'
import type { Election, Term } from './leader_election.ts'

export interface LeadershipOptions {
  origin: Origin
  pool: Pool
  /** For migrations: of the role that owns the tables. */
  migrateDatabaseUrl: string
  databaseRoles: DatabaseRoles
  /** Names this process in the Lease, in the epoch and in audit chains. */
  holder: string
  /** Kinds that were re-created and whose former rows the sweep may remove. */
  acceptEmpty: readonly Kind[]
  /** The break of audit chains that the owner accepts. */
  acceptAuditBreak: string | undefined
  workers: Workers
  resyncMillis: number
  metrics: OperatorMetrics
  clock: Clock
  random: () => number
  now: () => Date
  log: Logger
  reconcilers: Pick<ReconcilerDeps, 'passwords' | 'baseUrl' | 'keyringNamespace' | 'licenseKeys'>
}

/** This process as a candidate: it stands by, leads for a term, and may stand by again. */
export interface Leadership {
  /** Joins the election. */
  start(): void
  /** `standby`: another process leads. `starting`: this process holds the Lease and has no controllers yet. */
  state(): 'standby' | 'starting' | 'leading'
  /** Resolves when this process must end: another process raised the epoch, or the database is too new. */
  failed: Promise<Error>
  stats(kind: Kind): QueueStats | undefined
  /** Ends the term, waits for what has begun, releases the Lease. */
  stop(): Promise<void>
}

const FIRST_RETRY_MILLIS = 250
const LONGEST_RETRY_MILLIS = 4_000

/**
 * The start and the end of a term. In this order, because each step relies on the one before:
 *
 * 1. Lease: `elect` calls `runTerm` while this process holds it; always, where resources come from a directory.
 * 2. Fence: the schema is migrated and a new epoch is taken; from here on every write of a former leader fails.
 * 3. Lists: the source catches up, so that it knows every resource that the former leader wrote rows for.
 * 4. Rows are read, and rows whose resource is gone are swept.
 * 5. Controllers reconcile every resource, then each that changes. Resync repeats 4 and 5.
 * 6. The term ends when the Lease is lost or the process stops: controllers finish what they began, then the election
 *    releases the Lease. A process that Postgres deposed ends: it was suspended, or another one leads without the Lease.
 */
export function createLeadership(options: LeadershipOptions): Leadership {
  const { origin, pool, holder, metrics, clock, random, now, log } = options
  const { source } = origin
  const failure = Promise.withResolvers<Error>()
  let state: ReturnType<Leadership['state']> = 'standby'
  let election: Election | undefined
  let controllers: Controllers | undefined
  let background: Promise<void>[] = []
  let signing: AuditSigning | undefined

  source.onResource((key) => controllers?.onResource(key))
  source.onSecret((name) => controllers?.onSecret(name))

  async function runTerm({ signal }: Term): Promise<void> {
    state = 'starting'
    metrics.leadershipChanged('leading')
    const enforcement = origin.enforcementCheck?.()
    try {
      await retryUntilPostgresAnswers(() => startTerm(signal, enforcement), signal)
    } catch (error) {
      failure.resolve(asError(error))
    }
    await aborted(signal, signal)
    state = 'standby'
    metrics.leadershipChanged('standby')
    metrics.enforcementChanged(undefined)
    await Promise.all([enforcement?.stop(), controllers?.stop(), ...background])
    controllers = undefined
    await signing?.signLast()
    signing = undefined
    metrics.auditChecked(undefined)
  }

  async function startTerm(signal: AbortSignal, enforcement: EnforcementCheck | undefined): Promise<void> {
    const applied = await migrate(options.migrateDatabaseUrl, { roles: options.databaseRoles })
    if (applied.length > 0) log.info({ migrations: applied }, 'the schema was migrated')
    const epoch = await takeEpoch(pool, holder)
    log.info({ epoch }, 'this operator leads')

    await Promise.race([source.catchUp?.(), aborted(signal, signal)])
    if (signal.aborted) return

    const store = storeAccess({ pool, epoch, now, auditWriter: `operator/${holder}` })
    const rows = createRows()
    const drift = driftReport(metrics, log)
    const identities = listIdentitiesOf({ source, store, acceptEmpty: options.acceptEmpty })
    const outside = outsideScope({ source, metrics, log })
    const sweep = { source, store, rows, identities, outside, log, reportDrift: drift.report }
    const onDeposed = failure.resolve
    await enforcement?.begin({
      store,
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a source hands out what its kind's schema accepts
      cached: () => source.list('RoleAssignment') as RoleAssignmentResource[],
      changed: () => {
        metrics.enforcementChanged(enforcement.current().mode)
        controllers?.enqueue('Realm', 'RoleAssignment')
      },
      onDeposed,
    })
    metrics.enforcementChanged((enforcement?.current() ?? DEVELOPMENT).mode)
    await rows.load(store.db)
    const unswept = await sweepRows(sweep)
    if (signal.aborted) return

    const { reconcilers, workers } = options
    const approvalEnforcement = () => enforcement?.current() ?? DEVELOPMENT
    const secrets = origin.secrets()
    const deps = { ...reconcilers, store, rows, secrets, approvalEnforcement, metrics, reportDrift: drift.report }
    const started = startControllers({ source, identities, deps, workers, clock, random, log, onDeposed })
    controllers = started
    state = 'leading'
    signing = auditSigning({
      store,
      secrets,
      source,
      namespace: reconcilers.keyringNamespace,
      acceptedBreak: options.acceptAuditBreak,
      metrics,
      clock,
      log,
      onDeposed,
    })
    background = [
      signing.run(signal),
      runResync({ ...options, sweep, unswept, drift, controllers: started, onDeposed, signal }),
      runRemainingDeletions({ store, rows, clock, log, onDeposed, signal }),
      runKeyringRolePruning({ ...reconcilers, role: origin.keyringRole, db: store.db, clock, log, signal }),
    ]
  }

  /** Each attempt takes a new epoch, which costs nothing: the former one is this process's own. */
  async function retryUntilPostgresAnswers(attempt: () => Promise<void>, signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        await attempt()
        return
      } catch (error) {
        if (signal.aborted) return
        const waitsForMigration = error instanceof SchemaBehind
        if (!waitsForMigration && !(error instanceof PostgresAway) && !isUnavailable(error)) throw error
        const text = waitsForMigration
          ? 'the operator waits until the database is migrated'
          : 'PostgreSQL does not answer; the operator retries until it does'
        if (failures === 0) log.warn({ err: error }, text)
        await pause(clock, backoffMillis(failures + 1, FIRST_RETRY_MILLIS, LONGEST_RETRY_MILLIS, random), signal)
      }
    }
  }

  return {
    failed: failure.promise,
    start() {
      election = origin.elect(runTerm)
      election.ended.catch((error: unknown) => failure.resolve(asError(error)))
    },
    state: () => state,
    stats: (kind) => controllers?.stats(kind),
    stop: async () => election?.stop(),
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
