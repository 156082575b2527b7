import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { ReconcileLabel } from './controller/controller.ts'
import type { QueueStats } from './controller/queue.ts'
import { KINDS } from './source/resource.ts'
import type { Kind } from './source/resource.ts'
import type { ResourceSource } from './source/resource_source.ts'

export interface OperatorMetrics {
  registry: Registry
  reconciled(kind: Kind, result: ReconcileLabel): void
  /** Rows that somebody else had changed, found when all rows were read again. */
  drifted(rows: number): void
  /** How long a RoleAssignment that needs decisions had been waiting when one was recorded, or when it was granted. */
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
    help: 'Resources looked at, by what came of it',
    labelNames: ['kind', 'result'],
    registers,
  })
  const drift = new Counter({
    name: 'realmkeeper_operator_drifted_rows_total',
    help: 'Rows of configuration that were not as the operator had left them, and were put right',
    registers,
  })
  const waiting = new Histogram({
    name: 'realmkeeper_assignment_waiting_seconds',
    help: 'From the request of a RoleAssignment that needs decisions to each decision, and to its grant',
    labelNames: ['until'],
    buckets: [1, 10, MINUTE, 10 * MINUTE, HOUR, 4 * HOUR, DAY, 3 * DAY, 7 * DAY, 30 * DAY],
    registers,
  })
  const ofQueue = (name: string, help: string, of: (queue: QueueStats) => number): Gauge =>
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
  ofQueue('realmkeeper_operator_queue_ready', 'Keys that could be worked on now', ({ ready }) => ready)
  ofQueue('realmkeeper_operator_queue_waiting', 'Keys that wait for a time', ({ waiting }) => waiting)
  ofQueue('realmkeeper_operator_queue_retries', 'Failed tries since the start', ({ retries }) => retries)
  ofQueue(
    'realmkeeper_operator_queue_oldest_seconds',
    'How long the oldest ready key has waited',
    ({ oldestMillis }) => oldestMillis / 1000,
  )
  registry.registerMetric(resourcesGauge(source))

  return {
    registry,
    reconciled: (kind, result) => reconciles.inc({ kind, result }),
    drifted: (rows) => drift.inc(rows),
    waited: (until, seconds) => waiting.observe({ until }, seconds),
  }
}

function resourcesGauge(source: ResourceSource): Gauge {
  return new Gauge({
    name: 'realmkeeper_resources',
    help: 'Resources, by the status of their condition Ready',
    labelNames: ['kind', 'ready'],
    registers: [],
    collect() {
      for (const kind of KINDS) {
        const counts = { True: 0, False: 0, Unknown: 0 }
        for (const { status } of source.list(kind)) {
          counts[status?.conditions?.find(({ type }) => type === 'Ready')?.status ?? 'Unknown'] += 1
        }
        for (const [ready, count] of Object.entries(counts)) this.set({ kind, ready }, count)
      }
    },
  })
}
