import type { WrittenSpec } from '../../store/operator/spec_proofs.ts'
import { markSpecsUnproven } from '../../store/operator/spec_proofs.ts'
import { writtenSpec } from '../role_assignment/spec_state.ts'
import type { StoreAccess } from '../rows/store_access.ts'
import type { RoleAssignmentResource } from '../view/resource_types.ts'

/** Bounds one statement and its transaction. */
const BATCH = 1_000

/**
 * At the end of a gap: marks each spec that the operator did not prove before as unproven, because it may have been
 * written during the gap. Repeating it after an interruption changes nothing. Returns how many it marked.
 */
export async function markUnprovenSpecs(
  store: StoreAccess,
  resources: { live: readonly RoleAssignmentResource[]; cached: readonly RoleAssignmentResource[] },
): Promise<number> {
  const specs = latestSpecs(resources)
  let marked = 0
  for (let at = 0; at < specs.length; at += BATCH) {
    marked += await store.transaction((db) => markSpecsUnproven(db, specs.slice(at, at + BATCH)))
  }
  return marked
}

/** The latest generation of each object. What the API server holds takes precedence over the cache. */
function latestSpecs({ live, cached }: Parameters<typeof markUnprovenSpecs>[1]): WrittenSpec[] {
  const specs = new Map<string, WrittenSpec>()
  for (const resource of [...live, ...cached]) {
    const { uid, generation } = resource.metadata
    const known = specs.get(uid)
    if (!known || known.generation < generation) specs.set(uid, writtenSpec(resource))
  }
  return [...specs.values()]
}
