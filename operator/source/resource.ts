import type { RealmCondition } from '../../crds/realm.gen.ts'
import type { RoleAssignmentCondition } from '../../crds/role_assignment.gen.ts'
import type { ApiMetadata } from '../../kubernetes/api_object.ts'

/** The four kinds of the group `realmkeeper.io`, in the order in which they depend on each other. */
export const KINDS = ['Realm', 'Client', 'User', 'RoleAssignment'] as const
export type Kind = (typeof KINDS)[number]

/** The parts of `metav1.ObjectMeta` that reconcilers read. Times are RFC 3339 texts, as an API server sends them. */
export interface ObjectMeta extends Omit<ApiMetadata, 'ownerReferences' | 'managedFields'> {
  namespace: string
  generation: number
}

/** `metav1.Condition`; the two optional members are written by approvers on RoleAssignments. */
export interface Condition extends RealmCondition, Pick<RoleAssignmentCondition, 'decidedBy' | 'observedUID'> {}

/** The latest received state of an object of one of the four kinds. Do not change it: sources return the object that they hold. */
export interface Resource<Spec = unknown, Status = unknown> {
  apiVersion: string
  kind: Kind
  metadata: ObjectMeta
  spec: Spec
  status?: Status & { observedGeneration?: number; conditions?: Condition[] }
}

/** Names an object. Without `uid`, because the name may belong to another object later. */
export interface ResourceKey {
  kind: Kind
  namespace: string
  name: string
}

/** The text of a key: one per object name, usable as a map key. */
export function keyText({ kind, namespace, name }: { kind: string; namespace: string; name: string }): string {
  return `${kind}/${namespace}/${name}`
}

/** The key of an object. */
export function keyOf(resource: Resource): ResourceKey {
  return { kind: resource.kind, namespace: resource.metadata.namespace, name: resource.metadata.name }
}
