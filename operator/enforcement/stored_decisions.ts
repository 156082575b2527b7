import { isDeepStrictEqual } from 'node:util'
import type { Db } from '../../store/db.ts'
import { readRoleAssignments } from '../../store/role_assignments.ts'
import { parseGranted } from '../role_assignment/granted.ts'
import { statusDecisions } from '../role_assignment/status_decisions.ts'
import type { RoleAssignmentResource } from '../view/resource_types.ts'

/**
 * Whether the API server still holds what a reconciler read from its cache: the same uid, generation and spec, and every
 * decision. A decision that was written and removed during a gap must not count because the cache is behind.
 */
export function isCurrent(cached: RoleAssignmentResource, live: RoleAssignmentResource | undefined): boolean {
  if (live?.metadata.uid !== cached.metadata.uid || live.metadata.generation !== cached.metadata.generation) {
    return false
  }
  // A restored cluster repeats generations.
  if (!isDeepStrictEqual(live.spec, cached.spec)) return false
  if ((live.metadata.deletionTimestamp === undefined) !== (cached.metadata.deletionTimestamp === undefined)) {
    return false
  }
  const present = statusDecisions(live.status)
  return statusDecisions(cached.status).every((decision) => present.some((one) => isDeepStrictEqual(one, decision)))
}

/**
 * Whether every `status.granted` equals its row, or is absent. Then no status forged during a gap remains, and a status
 * may replace a lost row.
 */
export async function statusesEqualRows(db: Db, live: readonly RoleAssignmentResource[]): Promise<boolean> {
  const inStatus = new Map(
    live.flatMap(({ metadata, status }) => {
      const granted = parseGranted(status?.granted)
      return granted ? [[metadata.uid, granted]] : []
    }),
  )
  for await (const page of readRoleAssignments(db)) {
    for (const { resourceUid, granted } of page) {
      const expected = inStatus.get(resourceUid)
      if (expected && !isDeepStrictEqual(expected, parseGranted(granted))) return false
      inStatus.delete(resourceUid)
    }
  }
  return inStatus.size === 0
}
