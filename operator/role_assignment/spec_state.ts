import { digestOf } from '../../process/canonical_json.ts'
import type { SpecProof, WrittenSpec } from '../../store/operator/spec_proofs.ts'
import type { RoleAssignmentResource } from '../view/resource_types.ts'

/**
 * Whether the admission policies were in force when the present spec was written, so that `requestedBy` is its writer.
 * `proven`: they were. `unproven`: they may not have been; no decision on this generation counts. `unknown`: the operator
 * has not checked yet; decisions wait.
 */
export type SpecState = 'proven' | 'unproven' | 'unknown'

/** The present spec of a RoleAssignment, as the store identifies it. */
export function writtenSpec({ metadata, spec }: RoleAssignmentResource): WrittenSpec {
  const { uid, generation } = metadata
  return { assignmentUid: uid, generation, digest: digestOf(spec) }
}

/** What the stored proof tells about a spec. */
export function specState(proof: SpecProof | undefined, { generation, digest }: WrittenSpec): SpecState {
  if (!proof || proof.generation < generation) return 'unknown'
  // A generation older than the known one comes from a restored cluster.
  if (proof.generation > generation || !proof.proven) return 'unproven'
  return proof.digest === digest ? 'proven' : 'unknown'
}
