import { isDeepStrictEqual } from 'node:util'
import type { Condition, Resource } from '../resource.ts'
import type { StatusPatch } from '../resource_source.ts'
import { API_VERSION } from './api_paths.ts'
import type { OwnedStatus } from './api_object.ts'
import type { Received } from './received_object.ts'

type Status = Record<string, unknown> & { conditions?: Condition[] }

interface Applied {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace: string; resourceVersion: string }
  status: Status
}

/** What a status patch comes to, for an object as it is. */
export interface StatusWrite {
  /** A server-side apply of all that the operator owns: what is left out of one, the API server removes. */
  apply?: Applied
  /** Members that the operator wants gone. An apply removes only what the operator is said to own of them. */
  gone: string[]
}

/** Undefined when nothing would change. `lastTransitionTime` moves only when a condition's status does. */
export function statusWrite({ resource, owned }: Received, patch: StatusPatch, now: Date): StatusWrite | undefined {
  const before: Status = { ...resource.status }
  const after = patchedStatus(before, patch, now)
  const gone = Object.keys(before).filter((member) => !(member in after))
  const isChanged = Object.keys(after).some((member) => !isDeepStrictEqual(after[member], before[member]))
  if (!isChanged && gone.length === 0) return undefined
  const isApplied = isChanged || gone.some((member) => owned.fields.includes(member))
  return { ...(isApplied && { apply: ownStatus(resource, after, owned, patch) }), gone }
}

/** A member of status that is there and should be another, or should not be there. */
export interface Unlike {
  member: string
  value: unknown
}

/**
 * What an apply leaves, or is refused for: parts of members that nobody is said to own, or somebody else. Anybody who
 * may write the object can say that (`metadata.managedFields`).
 */
export function unlike(stored: object | undefined, { apply, gone }: StatusWrite): Unlike[] {
  const { conditions: _, ...applied }: Status = apply?.status ?? {}
  const wanted = [...Object.entries(applied), ...gone.map((member): [string, undefined] => [member, undefined])]
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
    // The version is what guards: an apply to another object of that name would go through, whatever uid it gives.
    metadata: { name: metadata.name, namespace: metadata.namespace, resourceVersion: metadata.resourceVersion },
    status,
  }
}

/** What arrives at the other end: members that are undefined do not. */
function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

/** `metav1.Time` has no fractions of seconds. */
function timeText(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`
}
