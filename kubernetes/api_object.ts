/** An object as an API server sends it, as far as this code reads it. */
export interface ApiObject {
  apiVersion?: string
  kind?: string
  metadata: ApiMetadata
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

/** `namespace/name`; for an object without a namespace, `/name`. */
export function pathKey({ namespace = '', name }: { namespace?: string; name: string }): string {
  return `${namespace}/${name}`
}

/** True when `one` is the later resource version: they are decimal numbers of any length (KEP-5504, Kubernetes 1.35). */
export function isLater(one: string, other: string): boolean {
  return one.length === other.length ? one > other : one.length > other.length
}
