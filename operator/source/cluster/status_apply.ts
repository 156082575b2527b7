import { isDeepStrictEqual } from 'node:util'
import { API_VERSION } from '../../../crds/group.ts'
import type { Condition, Resource } from '../resource.ts'
import type { StatusPatch } from '../resource_source.ts'
import type { OwnedStatus, Received } from './received_object.ts'

type Status = Record<string, unknown> & { conditions?: Condition[] }

interface Applied {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace: string; resourceVersion: string }
  status: Status
}

/** A status patch, computed for one state of an object. */
export interface StatusWrite {
  /** A server-side apply of everything that the operator owns: the API server removes what it leaves out. */
  apply?: Applied
  /** Members to remove. An apply removes only the parts of them that `managedFields` gives the operator. */
  removed: string[]
}

/** Undefined when nothing would change. `lastTransitionTime` changes only with a condition's status. */
export function statusWrite({ resource, owned }: Received, patch: StatusPatch, now: Date): StatusWrite | undefined {
  const before: Status = { ...resource.status }
  const after = patchedStatus(before, patch, now)
  const removed = Object.keys(before).filter((member) => !(member in after))
  const isChanged = Object.keys(after).some((member) => !isDeepStrictEqual(after[member], before[member]))
  if (!isChanged && removed.length === 0) return undefined
  const isApplied = isChanged || removed.some((member) => owned.fields.includes(member))
  return { ...(isApplied && { apply: ownStatus(resource, after, owned, patch) }), removed }
}

/** A stored member of status that differs from the wanted value; undefined to remove it. */
export interface Difference {
  member: string
  value: unknown
}

/**
 * What an apply leaves in place, or is refused for: parts of members that `managedFields` gives to no manager or to
 * another one, which any writer of the object can cause.
 */
export function differences(stored: object | undefined, { apply, removed }: StatusWrite): Difference[] {
  const { conditions: _, ...applied }: Status = apply?.status ?? {}
  const wanted = [...Object.entries(applied), ...removed.map((member): [string, undefined] => [member, undefined])]
  const present = new Map(Object.entries(stored ?? {}))
  return wanted
    .filter(([member, value]) => present.has(member) && !isDeepStrictEqual(present.get(member), value))
    .map(([member, value]) => ({ member, value }))
}

function patchedStatus(before: Status, patch: StatusPatch, now: Date): Status {
  const after: Status = { ...before, observedGeneration: patch.observedGeneration }
  const conditions = [...(before.conditions ?? [])]
  for (const wanted of patch.conditions) {
    const at = conditions.findIndex(({ type }) => type === wanted.type)
    const present = conditions[at]
    const isSame = present?.status === wanted.status && present.lastTransitionTime !== undefined
    const lastTransitionTime = isSame ? present.lastTransitionTime : timeText(now)
    const condition = { observedGeneration: patch.observedGeneration, ...wanted, lastTransitionTime }
    if (present) conditions[at] = condition
    else conditions.push(condition)
  }
  if (conditions.length > 0) after.conditions = conditions
  for (const [member, value] of Object.entries(patch.fields ?? {})) {
    if (value === undefined) delete after[member]
    else after[member] = asJson(value)
  }
  return after
}

function ownStatus({ kind, metadata }: Resource, after: Status, owned: OwnedStatus, patch: StatusPatch): Applied {
  const fields = new Set([...owned.fields, ...Object.keys(patch.fields ?? {}), 'observedGeneration'])
  const types = new Set([...owned.conditions, ...patch.conditions.map(({ type }) => type)])
  const { conditions = [], ...members } = after
  const status: Status = Object.fromEntries(Object.entries(members).filter(([member]) => fields.has(member)))
  const own = conditions.filter(({ type }) => types.has(type))
  if (own.length > 0) status.conditions = own
  return {
    apiVersion: API_VERSION,
    kind,
    // The resource version is the guard: an apply succeeds on another object of that name with any uid.
    metadata: { name: metadata.name, namespace: metadata.namespace, resourceVersion: metadata.resourceVersion },
    status,
  }
}

/** The value as the API server receives it: without undefined members. */
function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

/** `metav1.Time` has no fractions of seconds. */
function timeText(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`
}
