import type { EnforcementRecord } from '../../store/operator/approval_enforcement.ts'

/** The namespaces whose RoleAssignments are checked; null: all. */
export type Scope = readonly string[] | null

/**
 * The record for a process that checks `scope`. The operator knows nothing of the past of namespaces that the record does
 * not cover: a wider scope starts a gap.
 */
export function withScope(record: EnforcementRecord, scope: Scope, now: Date): EnforcementRecord {
  if (covers(record.scope, scope)) return { ...record, scope }
  return { ...withGap(record, now), scope }
}

/** The record with a gap, which a running one continues. */
export function withGap(record: EnforcementRecord, now: Date): EnforcementRecord {
  return { ...record, gapSince: record.gapSince ?? now, gapRevealed: false, statusesAgree: false }
}

function covers(recorded: Scope, scope: Scope): boolean {
  if (recorded === null) return true
  return scope !== null && scope.every((namespace) => recorded.includes(namespace))
}
