import type { Pool } from 'pg'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

export interface ServerMetrics {
  registry: Registry
  /** Counts one answered request. `route` is a name of the route table; text of a caller is never a label. */
  answered(route: string, method: string, status: number, seconds: number): void
}

/** The sources of the gauges. */
export interface Gauges {
  pool: Pick<Pool, 'totalCount' | 'idleCount' | 'waitingCount'>
  passwordQueueLength: () => number
  refusedKeyrings: () => { realm: string }[]
  isFollowingChanges: () => boolean
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'OPTIONS'])

/** Metrics of one server process. Labels come from closed sets, realms from Postgres. */
export function createServerMetrics(gauges: Gauges): ServerMetrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })

  const requests = new Counter({
    name: 'realmkeeper_http_requests_total',
    help: 'Requests answered',
    labelNames: ['route', 'method', 'status'],
    registers,
  })
  const durations = new Histogram({
    name: 'realmkeeper_http_request_duration_seconds',
    help: 'Time from the head of a request to its answer',
    labelNames: ['route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  })
  for (const gauge of gaugesOf(gauges)) registry.registerMetric(gauge)

  return {
    registry,
    answered(route, method, status, seconds) {
      requests.inc({ route, method: METHODS.has(method) ? method : 'other', status })
      durations.observe({ route }, seconds)
    },
  }
}

/** Each gauge reads its source when the metrics are scraped. */
function gaugesOf({ pool, passwordQueueLength, refusedKeyrings, isFollowingChanges }: Gauges): Gauge[] {
  return [
    new Gauge({
      name: 'realmkeeper_password_checks_pending',
      help: 'Password hashes that wait or are computed',
      registers: [],
      collect() {
        this.set(passwordQueueLength())
      },
    }),
    new Gauge({
      name: 'realmkeeper_keyring_refused',
      help: '1 for each realm whose present keyring is refused: the last good one, or none, is served',
      labelNames: ['realm'],
      registers: [],
      collect() {
        this.reset()
        for (const { realm } of refusedKeyrings()) this.set({ realm }, 1)
      },
    }),
    new Gauge({
      name: 'realmkeeper_change_log_followed',
      help: '1 while realms and clients are answered from memory, 0 while they are read from PostgreSQL',
      registers: [],
      collect() {
        this.set(isFollowingChanges() ? 1 : 0)
      },
    }),
    new Gauge({
      name: 'realmkeeper_postgres_connections',
      help: 'Connections of the pool, and requests that wait for one',
      labelNames: ['state'],
      registers: [],
      collect() {
        this.set({ state: 'idle' }, pool.idleCount)
        this.set({ state: 'busy' }, pool.totalCount - pool.idleCount)
        this.set({ state: 'waited_for' }, pool.waitingCount)
      },
    }),
  ]
}
