import { Gauge } from 'prom-client'
import type { Registry } from 'prom-client'
import type { Kind } from '../source/resource.ts'

/** Gauges of what is outside the watched namespaces. Returns a function that takes each new number. */
export function scopeMetrics(registry: Registry): (what: 'rows' | 'waiting', kind: Kind, count: number) => void {
  const gauge = (name: string, help: string) => new Gauge({ name, help, labelNames: ['kind'], registers: [registry] })
  const gauges = {
    rows: gauge('realmkeeper_operator_rows_outside_scope', 'Rows of namespaces that are not watched'),
    waiting: gauge(
      'realmkeeper_operator_finalizers_outside_scope',
      'Objects in namespaces that are not watched that are being deleted and wait for the finalizer',
    ),
  }
  return (what, kind, count) => gauges[what].set({ kind }, count)
}
