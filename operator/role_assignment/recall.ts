import type { Granted } from './granted.ts'
import type { Memory } from './decision.ts'

/**
 * What was remembered. The row counts, because only the operator writes rows; a status that can be trusted stands in
 * for a row that was dropped, and for one that is older (a database restored from a backup).
 */
export function recall({ row, status, statusTrusted }: Memory): Granted | undefined {
  if (!statusTrusted || !status) return row
  return row && row.generation >= status.generation ? row : status
}

/** The memory of the present generation. A new one starts without a request and keeps what is being served. */
export function openGeneration(before: Granted | undefined, generation: number): Granted {
  if (before?.generation === generation) return before
  return {
    generation,
    ...(before?.uncounted && { uncounted: before.uncounted.filter((mark) => mark.generation >= generation) }),
    ...(before?.serving && { serving: before.serving }),
  }
}
