import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { conditionOf } from './controller/condition.ts'
import type { QueueStats } from './controller/queue.ts'
import { KINDS } from './source/resource.ts'
import type { Kind } from './source/resource.ts'
import type { ResourceSource } from './source/resource_source.ts'

/** The label `result` of the metric realmkeeper_operator_reconciles_total. */
export type ReconcileLabel = 'ready' | 'not_ready' | 'finalized' | 'failed'

export interface OperatorMetrics {
  registry: Registry
  reconciled(kind: Kind, result: ReconcileLabel): void
  /** A row was found that another client of the database had changed. */
  drifted(): void
  /** How long a RoleAssignment had waited when a decision was recorded, or when its roles were granted. */
  waited(until: 'decision' | 'grant', seconds: number): void
}

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Metrics of the operator. Labels come from closed sets. */
export function createOperatorMetrics(
  source: ResourceSource,
  stats: (kind: Kind) => QueueStats | undefined,
): OperatorMetrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })

  const reconciles = new Counter({
    name: 'realmkeeper_operator_reconciles_total',
    help: 'Reconciles, by result',
    labelNames: ['kind', 'result'],
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
  const queueGauge = (name: string, help: string, of: (queue: QueueStats) => number): Gauge =>
    new Gauge({
      name,
      help,
      labelNames: ['kind'],
      registers,
      collect() {
        for (const kind of KINDS) {
          const queue = stats(kind)
          if (queue) this.set({ kind }, of(queue))
        }
      },
    })
  queueGauge('realmkeeper_operator_queue_ready', 'Keys that wait for a worker', ({ ready }) => ready)
  queueGauge(
    'realmkeeper_operator_queue_waiting',
    'Keys that wait for a time: a retry, an expiry',
    ({ waiting }) => waiting,
  )
  queueGauge(
    'realmkeeper_operator_queue_retries',
    'Failed reconciles since the start of the term',
    ({ retries }) => retries,
  )
  queueGauge(
    'realmkeeper_operator_queue_oldest_seconds',
    'How long the oldest ready key has waited',
    ({ oldestMillis }) => oldestMillis / 1000,
  )
  registry.registerMetric(
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
  )

  return {
    registry,
    reconciled: (kind, result) => reconciles.inc({ kind, result }),
    drifted: () => drift.inc(),
    waited: (until, seconds) => waiting.observe({ until }, seconds),
  }
}
