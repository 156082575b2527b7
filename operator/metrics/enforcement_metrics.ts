import { Counter, Gauge } from 'prom-client'
import type { Registry } from 'prom-client'
import type { Enforcement } from '../role_assignment/decision.ts'

type Mode = Enforcement['mode']

const MODES: Mode[] = ['enforced', 'gap', 'unchecked', 'development']

/** Metrics of the check of the admission policies. Returns a function that takes each new mode; undefined: not leading. */
export function enforcementMetrics(registry: Registry, now: () => Date): (mode: Mode | undefined) => void {
  let present: Mode | undefined
  let gapSince: number | undefined
  const gaps = new Counter({
    name: 'realmkeeper_approval_enforcement_gaps_total',
    help: 'Gaps in the enforcement of approvals that this process has seen',
    registers: [registry],
  })
  registry.registerMetric(
    new Gauge({
      name: 'realmkeeper_approval_enforcement_state',
      help: '1 for the present state of the admission policies that check approvals; only the leader knows it',
      labelNames: ['state'],
      registers: [],
      collect() {
        this.reset()
        if (present) for (const state of MODES) this.set({ state }, state === present ? 1 : 0)
      },
    }),
  )
  registry.registerMetric(
    new Gauge({
      name: 'realmkeeper_approval_enforcement_gap_start_timestamp_seconds',
      help: 'When this process first saw the present gap, as Unix time; absent without a gap',
      registers: [],
      collect() {
        this.remove()
        if (gapSince !== undefined) this.set(gapSince)
      },
    }),
  )

  return (mode) => {
    if (mode === 'gap' && present !== 'gap') {
      gaps.inc()
      gapSince = now().getTime() / 1_000
    }
    if (mode !== 'gap') gapSince = undefined
    present = mode
  }
}
