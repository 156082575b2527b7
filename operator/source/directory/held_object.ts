import { withDefaults } from '../../../crds/validation/defaulting.ts'
import { kindSchema } from '../../../crds/schemas.ts'
import { API_VERSION } from './manifest.ts'
import type { Condition, Kind, Resource } from '../resource.ts'

/** An object as the directory source holds it: what an API server would keep in etcd. It is one line of the state file. */
export type Held = HeldObject | HeldSecret | HeldNamespace

export interface HeldObject {
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
  /** Digest of the last good spec as it stands in the file. */
  specDigest: string
  /** The operator's status and the decisions that were taken over from the file. */
  status?: HeldStatus
  /** Digests of decisions in the file that were dealt with: dropped at first sight, refused, or taken over. */
  seenDecisions?: string[]
}

export interface HeldStatus {
  observedGeneration?: number
  conditions?: Condition[]
  approvals?: Approval[]
  [member: string]: unknown
}

/** An entry of `status.approvals` (design: approvers write it, the operator only drops it). */
export interface Approval {
  approver: string
  decision: 'Approved' | 'Denied'
  observedGeneration: number
  observedUID: string
  comment?: string
  decidedAt?: string
}

/** A Secret in the directory: its identity and a keyed digest, never its content. */
export interface HeldSecret {
  kind: 'Secret'
  namespace: string
  name: string
  uid: string
  digest: string
}

export interface HeldNamespace {
  kind: 'Namespace'
  namespace: ''
  name: string
  labels: Record<string, string>
}

/** What names a held thing; also the key of a Resource (`keyText`). */
export function heldKey({ kind, namespace, name }: { kind: string; namespace: string; name: string }): string {
  return `${kind}/${namespace}/${name}`
}

export function isHeldObject(held: Held): held is HeldObject {
  return held.kind !== 'Secret' && held.kind !== 'Namespace'
}

/** The object as reconcilers see it. */
export function resourceOf(held: HeldObject): Resource {
  return {
    apiVersion: API_VERSION,
    kind: held.kind,
    metadata: {
      name: held.name,
      namespace: held.namespace,
      uid: held.uid,
      generation: held.generation,
      resourceVersion: String(held.resourceVersion),
      creationTimestamp: held.creationTimestamp,
      ...(held.deletionTimestamp !== undefined && { deletionTimestamp: held.deletionTimestamp }),
      ...(held.finalizers.length > 0 && { finalizers: held.finalizers }),
      labels: held.labels,
      annotations: held.annotations,
    },
    spec: held.spec,
    ...(held.status && { status: held.status }),
  }
}

/** A held object as the schema and the rules see it. */
export function objectOf(held: HeldObject): Record<string, unknown> {
  const { kind, namespace, name, labels, annotations, spec, status } = held
  return {
    apiVersion: API_VERSION,
    kind,
    metadata: { namespace, name, labels, annotations },
    spec,
    ...(status && { status }),
  }
}

/** The object with the defaults that its kind has by now, as an API server reads what a former version stored. */
export function withPresentDefaults(held: Held): Held {
  const schema = isHeldObject(held) ? kindSchema(held.kind)?.schema.properties?.['spec'] : undefined
  return isHeldObject(held) && schema ? { ...held, spec: withDefaults(schema, held.spec) } : held
}

/** RFC 3339 with seconds, as an API server writes times. */
export function timeText(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, 'Z')
}
