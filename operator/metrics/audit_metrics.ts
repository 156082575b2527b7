import { Gauge } from 'prom-client'
import type { Registry } from 'prom-client'

/** Gauges of the audit chains. Returns a function that takes the result of each check; undefined: not leading. */
export function auditMetrics(registry: Registry, now: () => Date): (broken: number | undefined) => void {
  let last: { broken: number; at: number } | undefined
  const gauge = (name: string, help: string, value: () => number | undefined) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        const present = value()
        if (present === undefined) this.remove()
        else this.set(present)
      },
    })
  gauge(
    'realmkeeper_audit_broken_chains',
    'Audit chains that do not continue what was signed; absent before the first check',
    () => last?.broken,
  )
  gauge(
    'realmkeeper_audit_checked_timestamp_seconds',
    'When the audit chains were last compared with what was signed, as Unix time; absent before the first check',
    () => last?.at,
  )
  return (broken) => {
    last = broken === undefined ? undefined : { broken, at: now().getTime() / 1_000 }
  }
}
