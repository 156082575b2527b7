import { API_VERSION } from '../../../../crds/group.ts'
import { kindSchema } from '../../../../crds/schemas.ts'
import { withDefaults } from '../../../../crds/validation/defaulting.ts'
import type { Condition, Kind, Resource } from '../../resource.ts'

/** An object as the state file stores it, one per line: what an API server keeps in etcd. */
export type StoredObject = StoredResource | StoredSecret | StoredNamespace

export interface StoredResource {
  kind: Kind
  namespace: string
  name: string
  uid: string
  generation: number
  /** One counter for all objects of a state file, raised by each change. */
  resourceVersion: number
  creationTimestamp: string
  deletionTimestamp?: string
  finalizers: string[]
  labels: Record<string, string>
  annotations: Record<string, string>
  /** The last good spec, after defaulting. */
  spec: unknown
  /** Digest of the last good spec as the file has it, before defaulting. */
  specDigest: string
  /** The status of the operator, with the decisions that were applied from the file. */
  status?: StoredStatus
  /** Digests of the decisions in the file that were applied, refused, or present when the object was created. */
  seenDecisions?: string[]
}

export interface StoredStatus {
  observedGeneration?: number
  conditions?: Condition[]
  approvals?: Approval[]
  [member: string]: unknown
}

/** An entry of `status.approvals`. Approvers write it; the operator only removes it. */
export interface Approval {
  approver: string
  decision: 'Approved' | 'Denied'
  observedGeneration: number
  observedUID: string
  comment?: string
  decidedAt?: string
}

/** A Secret of the directory: its identity and a keyed digest. The state file has no content of Secrets. */
export interface StoredSecret {
  kind: 'Secret'
  namespace: string
  name: string
  uid: string
  digest: string
}

export interface StoredNamespace {
  kind: 'Namespace'
  namespace: ''
  name: string
  labels: Record<string, string>
}

export function isStoredResource(object: StoredObject): object is StoredResource {
  return object.kind !== 'Secret' && object.kind !== 'Namespace'
}

/** The object as reconcilers see it. */
export function resourceOf(stored: StoredResource): Resource {
  return {
    apiVersion: API_VERSION,
    kind: stored.kind,
    metadata: {
      name: stored.name,
      namespace: stored.namespace,
      uid: stored.uid,
      generation: stored.generation,
      resourceVersion: String(stored.resourceVersion),
      creationTimestamp: stored.creationTimestamp,
      ...(stored.deletionTimestamp !== undefined && { deletionTimestamp: stored.deletionTimestamp }),
      ...(stored.finalizers.length > 0 && { finalizers: stored.finalizers }),
      labels: stored.labels,
      annotations: stored.annotations,
    },
    spec: stored.spec,
    ...(stored.status && { status: stored.status }),
  }
}

/** The object as the schema and the CEL rules of its kind read it. */
export function objectOf(stored: StoredResource): Record<string, unknown> {
  const { kind, namespace, name, labels, annotations, spec, status } = stored
  return {
    apiVersion: API_VERSION,
    kind,
    metadata: { namespace, name, labels, annotations },
    spec,
    ...(status && { status }),
  }
}

/** Adds the defaults of the current schema, as an API server does when it reads an object that an older version stored. */
export function withCurrentDefaults(stored: StoredObject): StoredObject {
  const schema = isStoredResource(stored) ? kindSchema(stored.kind)?.schema.properties?.['spec'] : undefined
  return isStoredResource(stored) && schema ? { ...stored, spec: withDefaults(schema, stored.spec) } : stored
}

/** RFC 3339 with seconds, as an API server writes times. */
export function timeText(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, 'Z')
}
