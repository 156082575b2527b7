import type { Logger } from 'pino'
import type { OperatorMetrics } from '../metrics.ts'

/** Counts and logs rows that another client of the database changed and that the operator restores. */
export interface DriftReport {
  report: (row: string) => void
  /** A resync begins: its first rows are logged again. */
  reset: () => void
}

/** Log lines per resync: a table that was emptied has thousands of rows with one cause. */
const MAX_LOGGED = 20

export function driftReport(metrics: Pick<OperatorMetrics, 'drifted'>, log: Logger): DriftReport {
  let reported = 0
  return {
    report(row) {
      metrics.drifted()
      reported += 1
      if (reported > MAX_LOGGED) return
      log.warn({ drift: row }, 'a row differs from what the operator wrote; the operator restores it')
    },
    reset() {
      reported = 0
    },
  }
}
