import { Gauge } from 'prom-client'
import type { WatchState } from '../../kubernetes/reflector.ts'

/** Gauges of each watch of the API server. The label is a kind and a watched namespace, from the configuration. */
export function watchMetrics(watches: () => WatchState[]): Gauge[] {
  const gauge = (name: string, help: string, of: (state: WatchState) => number | undefined): Gauge =>
    new Gauge({
      name,
      help,
      labelNames: ['watch'],
      registers: [],
      collect() {
        this.reset()
        for (const state of watches()) {
          const value = of(state)
          if (value !== undefined) this.set({ watch: state.what }, value)
        }
      },
    })
  return [
    gauge(
      'realmkeeper_operator_watch_age_seconds',
      'Time since the API server last proved that no event is missing',
      ({ ageMillis }) => (ageMillis === undefined ? undefined : ageMillis / 1_000),
    ),
    gauge(
      'realmkeeper_operator_watch_complete',
      '1 when a complete list was received and the watch continues from it',
      ({ complete }) => (complete ? 1 : 0),
    ),
    gauge('realmkeeper_operator_watch_failures', 'Failures since the start of the process', ({ failures }) => failures),
  ]
}
