import { Gauge } from 'prom-client'
import type { QueueStats } from '../controller/queue.ts'
import { KINDS } from '../source/resource.ts'
import type { Kind } from '../source/resource.ts'

/** Gauges of the queue of each kind. A process that does not lead has no queues. */
export function queueMetrics(stats: (kind: Kind) => QueueStats | undefined): Gauge[] {
  const gauge = (name: string, help: string, of: (queue: QueueStats) => number): Gauge =>
    new Gauge({
      name,
      help,
      labelNames: ['kind'],
      registers: [],
      collect() {
        this.reset()
        for (const kind of KINDS) {
          const queue = stats(kind)
          if (queue) this.set({ kind }, of(queue))
        }
      },
    })
  return [
    gauge('realmkeeper_operator_queue_ready', 'Keys that wait for a worker', ({ ready }) => ready),
    gauge(
      'realmkeeper_operator_queue_waiting',
      'Keys that wait for a time: a retry, an expiry',
      ({ waiting }) => waiting,
    ),
    gauge(
      'realmkeeper_operator_queue_retries',
      'Failed reconciles since the start of the term',
      ({ retries }) => retries,
    ),
    gauge(
      'realmkeeper_operator_queue_oldest_seconds',
      'How long the oldest ready key has waited',
      ({ oldestMillis }) => oldestMillis / 1000,
    ),
  ]
}
