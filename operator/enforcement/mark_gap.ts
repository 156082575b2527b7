import type { Logger } from 'pino'
import type { StoreAccess } from '../rows/store_access.ts'
import type { RoleAssignmentResource } from '../view/resource_types.ts'
import { markUnproven } from './mark_unproven.ts'
import { markUnprovenSpecs } from './unproven_specs.ts'

/**
 * Marks all RoleAssignments at the end of a gap: specs that were not proven before, and decisions that are not recorded.
 * Repeating it after an interruption changes nothing.
 * @param live as the API server holds them
 * @param cached reconcilers may still hold specs and decisions that are no longer in the cluster
 */
export async function markGap(
  store: StoreAccess,
  resources: { live: readonly RoleAssignmentResource[]; cached: readonly RoleAssignmentResource[] },
  log: Logger,
): Promise<void> {
  const specs = await markUnprovenSpecs(store, resources)
  if (specs > 0) {
    log.warn(
      { roleAssignments: specs },
      'specs that may have been written while the admission policies were not in force are unproven; no decision on them counts until they are edited',
    )
  }
  for (const resource of [...resources.live, ...resources.cached]) {
    const approvers = await markUnproven(store, resource)
    if (approvers.length === 0) continue
    const { namespace, name } = resource.metadata
    log.warn(
      { resource: `RoleAssignment/${namespace}/${name}`, approvals: approvers.length },
      'approvals made while the admission policies were not in force do not count; they need a new generation of the spec',
    )
  }
}
