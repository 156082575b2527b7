import { isDeepStrictEqual } from 'node:util'
import type { RoleAssignmentResource } from '../view/resource_types.ts'
import { statusDecisions } from '../role_assignment/status_decisions.ts'

/**
 * Whether what was read is still there: the same object and spec, and every decision that was read. What reconcilers
 * read comes from a watch, which may be behind: a decision that was written and removed while nobody held anybody to
 * the rules must not come to count because it is seen late.
 */
export function isStillSo(read: RoleAssignmentResource, live: RoleAssignmentResource | undefined): boolean {
  if (live?.metadata.uid !== read.metadata.uid || live.metadata.generation !== read.metadata.generation) return false
  if ((live.metadata.deletionTimestamp === undefined) !== (read.metadata.deletionTimestamp === undefined)) return false
  const present = statusDecisions(live.status)
  return statusDecisions(read.status).every((decision) => present.some((one) => isDeepStrictEqual(one, decision)))
}
