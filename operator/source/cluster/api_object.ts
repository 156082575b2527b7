/** What an API server says of any object, as far as the operator reads it. */
export interface ApiObject {
  apiVersion?: string
  kind?: string
  metadata: ApiMetadata
  /** Read from `managedFields` of an object that was slimmed. */
  owned?: OwnedStatus
  [member: string]: unknown
}

export interface ApiMetadata {
  name: string
  namespace?: string
  uid: string
  resourceVersion: string
  generation?: number
  creationTimestamp: string
  deletionTimestamp?: string
  finalizers?: string[]
  labels?: Record<string, string>
  annotations?: Record<string, string>
  ownerReferences?: { uid: string; controller?: boolean }[]
  managedFields?: ManagedFields[]
}

/** Members of status, and conditions by type, that the operator applied (KEP-555). */
export interface OwnedStatus {
  fields: readonly string[]
  conditions: readonly string[]
}

/** One entry of `metadata.managedFields` (KEP-555). */
export interface ManagedFields {
  manager?: string
  operation?: string
  subresource?: string
  fieldsV1?: FieldSet
}

export interface FieldSet {
  [field: string]: FieldSet
}

export interface ApiList {
  metadata: { resourceVersion: string; continue?: string }
  items: ApiObject[]
}

/** The name of the operator as the author of fields. */
export const FIELD_MANAGER = 'realmkeeper-operator'

/** `namespace/name`; for what has no namespace, `/name`. */
export function pathKey({ namespace = '', name }: { namespace?: string; name: string }): string {
  return `${namespace}/${name}`
}

/** Which of two resource versions is the later one: numbers of any length, as API servers promise since 1.35. */
export function isLater(one: string, other: string): boolean {
  return one.length === other.length ? one > other : one.length > other.length
}
