import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { WatchState } from '../kubernetes/reflector.ts'
import { conditionOf } from './controller/condition.ts'
import type { QueueStats } from './controller/queue.ts'
import { auditMetrics } from './metrics/audit_metrics.ts'
import { enforcementMetrics } from './metrics/enforcement_metrics.ts'
import { queueMetrics } from './metrics/queue_metrics.ts'
import { realmMetrics } from './metrics/realm_metrics.ts'
import type { RealmTimes } from './metrics/realm_metrics.ts'
import { scopeMetrics } from './metrics/scope_metrics.ts'
import { watchMetrics } from './metrics/watch_metrics.ts'
import type { Enforcement } from './role_assignment/decision.ts'
import { KINDS } from './source/resource.ts'
import type { Kind } from './source/resource.ts'
import type { ResourceSource } from './source/resource_source.ts'

/** The label `result` of the metric realmkeeper_operator_reconciles_total. */
export type ReconcileLabel = 'ready' | 'not_ready' | 'finalized' | 'failed'

export interface OperatorMetrics {
  registry: Registry
  reconciled(kind: Kind, result: ReconcileLabel, seconds: number): void
  /** A row was found that another client of the database had changed. */
  drifted(): void
  /** How long a RoleAssignment had waited when a decision was recorded, or when its roles were granted. */
  waited(until: 'decision' | 'grant', seconds: number): void
  /** When the license and the keys of a Realm have to be renewed. */
  realmExpires(uid: string, times: RealmTimes): void
  /** A term of this process began or ended. */
  leadershipChanged(to: 'leading' | 'standby'): void
  /** Undefined while another process leads. */
  enforcementChanged(mode: Enforcement['mode'] | undefined): void
  /** So many audit chains do not continue what was signed. Undefined while another process leads. */
  auditChecked(broken: number | undefined): void
  /** How many rows of a kind belong to namespaces that are not watched, or how many of its objects wait there. */
  outsideScope(what: 'rows' | 'waiting', kind: Kind, count: number): void
}

/** What the gauges read when they are scraped. */
export interface MetricSources {
  source: ResourceSource
  stats: (kind: Kind) => QueueStats | undefined
  isLeading: () => boolean
  watches: () => WatchState[]
  now: () => Date
}

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Metrics of the operator, which docs/metrics.md lists. Labels come from closed sets, or are bounded. */
export function createOperatorMetrics({ source, stats, isLeading, watches, now }: MetricSources): OperatorMetrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })

  const reconciles = new Counter({
    name: 'realmkeeper_operator_reconciles_total',
    help: 'Reconciles, by result',
    labelNames: ['kind', 'result'],
    registers,
  })
  const durations = new Histogram({
    name: 'realmkeeper_operator_reconcile_duration_seconds',
    help: 'Duration of a reconcile, by result',
    labelNames: ['kind', 'result'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  })
  const drift = new Counter({
    name: 'realmkeeper_operator_drifted_rows_total',
    help: 'Rows of configuration that another client of the database had changed, and that the operator restored',
    registers,
  })
  const waiting = new Histogram({
    name: 'realmkeeper_assignment_waiting_seconds',
    help: 'From the request of a RoleAssignment that needs decisions to each decision, and to its grant',
    labelNames: ['until'],
    buckets: [1, 10, MINUTE, 10 * MINUTE, HOUR, 4 * HOUR, DAY, 3 * DAY, 7 * DAY, 30 * DAY],
    registers,
  })
  const leaderships = new Counter({
    name: 'realmkeeper_operator_leadership_changes_total',
    help: 'How often this process took the lead, and lost it or gave it up',
    labelNames: ['to'],
    registers,
  })
  const realmTimes = new Map<string, RealmTimes>()
  const gauges = [
    new Gauge({
      name: 'realmkeeper_operator_leading',
      help: '1 while this process leads and its controllers run',
      registers: [],
      collect() {
        this.set(isLeading() ? 1 : 0)
      },
    }),
    new Gauge({
      name: 'realmkeeper_resources',
      help: 'Resources, by the status of their condition Ready',
      labelNames: ['kind', 'ready'],
      registers: [],
      collect() {
        for (const kind of KINDS) {
          const counts = { True: 0, False: 0, Unknown: 0 }
          for (const resource of source.list(kind)) counts[conditionOf(resource, 'Ready')?.status ?? 'Unknown'] += 1
          for (const [ready, count] of Object.entries(counts)) this.set({ kind, ready }, count)
        }
      },
    }),
    ...queueMetrics(stats),
    ...watchMetrics(watches),
    ...realmMetrics(realmsThatExist, (uid) => realmTimes.get(uid)),
  ]
  for (const gauge of gauges) registry.registerMetric(gauge)

  function realmsThatExist() {
    const realms = source.list('Realm')
    // Forgets Realms that were deleted.
    if (realmTimes.size > realms.length) {
      const uids = new Set(realms.map(({ metadata }) => metadata.uid))
      for (const uid of realmTimes.keys()) if (!uids.has(uid)) realmTimes.delete(uid)
    }
    return realms
  }

  return {
    registry,
    reconciled(kind, result, seconds) {
      reconciles.inc({ kind, result })
      durations.observe({ kind, result }, seconds)
    },
    drifted: () => drift.inc(),
    waited: (until, seconds) => waiting.observe({ until }, seconds),
    realmExpires: (uid, times) => void realmTimes.set(uid, times),
    leadershipChanged(to) {
      leaderships.inc({ to })
      // Another leader renews licenses and keys from now on.
      realmTimes.clear()
    },
    enforcementChanged: enforcementMetrics(registry, now),
    auditChecked: auditMetrics(registry, now),
    outsideScope: scopeMetrics(registry),
  }
}
