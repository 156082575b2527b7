import { FINALIZER } from '../../../../crds/group.ts'
import { defaultAndValidate } from '../../../../crds/validation/validation.ts'
import { canonicalText } from '../../../../process/canonical_json.ts'
import { KINDS, keyText } from '../../resource.ts'
import type { Kind, Resource, ResourceKey } from '../../resource.ts'
import { ResourceConflict } from '../../resource_source.ts'
import type { StatusPatch } from '../../resource_source.ts'
import { fieldText } from '../manifests/problem.ts'
import type { Change, StateFile } from './state_file.ts'
import { isStoredResource, objectOf, resourceOf, timeText } from './stored_object.ts'
import type { StoredObject, StoredResource, StoredStatus } from './stored_object.ts'

/** The stored objects with the views that reconcilers read. Every change goes to the state file first. */
export interface ObjectStore {
  readonly objects: ReadonlyMap<string, StoredObject>
  list(kind: Kind): Resource[]
  get(key: ResourceKey): Resource | undefined
  /** Labels of a namespace. A namespace exists when there is a manifest of it, or an object in it. */
  namespaceLabels(namespace: string): Record<string, string> | undefined
  write(changes: Change[], options?: { durable?: boolean }): void
  /** Throws ResourceConflict when the object is gone or has another uid. Not synced: the operator can write it again. */
  writeStatus(key: ResourceKey, uid: string, patch: StatusPatch): void
  /** Throws like `writeStatus`, except that there is nothing to remove from an object that is gone. */
  setFinalizer(key: ResourceKey, uid: string, present: boolean): void
}

/** Calls `changed` with the object before and after each change, once the change is in the state file. */
export function objectStore(
  state: StateFile,
  now: () => Date,
  changed: (before: StoredObject | undefined, after: StoredObject | undefined) => void,
): ObjectStore {
  const views = new Map<Kind, Map<string, Resource>>(KINDS.map((kind) => [kind, new Map()]))
  const objectsInNamespace = new Map<string, number>()
  for (const object of state.objects.values()) updateViews(undefined, object)

  function updateViews(before: StoredObject | undefined, after: StoredObject | undefined): void {
    if (before) objectsInNamespace.set(before.namespace, (objectsInNamespace.get(before.namespace) ?? 0) - 1)
    if (after) objectsInNamespace.set(after.namespace, (objectsInNamespace.get(after.namespace) ?? 0) + 1)
    if (after && isStoredResource(after)) views.get(after.kind)?.set(keyText(after), resourceOf(after))
    else if (before && isStoredResource(before)) views.get(before.kind)?.delete(keyText(before))
  }

  function write(changes: Change[], options?: { durable?: boolean }): void {
    if (changes.length === 0) return
    const keys = changes.map((change) => ('put' in change ? keyText(change.put) : change.gone))
    const before = keys.map((key) => state.objects.get(key))
    state.write(changes, options)
    const pairs = keys.map((key, index) => [before[index], state.objects.get(key)] as const)
    for (const [former, present] of pairs) updateViews(former, present)
    for (const [former, present] of pairs) changed(former, present)
  }

  function find(key: ResourceKey): StoredResource | undefined {
    const object = state.objects.get(keyText(key))
    return object && isStoredResource(object) ? object : undefined
  }

  function get(key: ResourceKey, uid: string): StoredResource {
    const object = find(key)
    if (!object) throw new ResourceConflict(`${keyText(key)} is gone`)
    if (object.uid !== uid) throw new ResourceConflict(`${keyText(key)} is another object by now`)
    return object
  }

  return {
    objects: state.objects,
    list: (kind) => [...(views.get(kind)?.values() ?? [])],
    get: (key) => views.get(key.kind)?.get(keyText(key)),
    write,

    namespaceLabels(namespace) {
      const manifest = state.objects.get(keyText({ kind: 'Namespace', namespace: '', name: namespace }))
      if (!manifest && (namespace === '' || !objectsInNamespace.get(namespace))) return undefined
      const labels = manifest?.kind === 'Namespace' ? manifest.labels : {}
      return { ...labels, 'kubernetes.io/metadata.name': namespace }
    },

    writeStatus(key, uid, patch) {
      const stored = get(key, uid)
      const status = patchedStatus(stored.status, patch, now())
      if (!status) return
      const put = { ...stored, status }
      const [problem] = defaultAndValidate(key.kind, objectOf(put)).problems
      if (problem) {
        throw new Error(`status of ${keyText(key)} is not valid: ${fieldText(problem.path)} ${problem.message}`)
      }
      write([{ put }])
    },

    setFinalizer(key, uid, present) {
      if (!present && !find(key)) return
      const stored = get(key, uid)
      if (stored.finalizers.includes(FINALIZER) === present) return
      if (!present && stored.deletionTimestamp !== undefined) write([{ gone: keyText(key) }], { durable: true })
      else write([{ put: { ...stored, finalizers: present ? [FINALIZER] : [] } }])
    },
  }
}

/**
 * The status after a patch of the operator, or undefined when the patch changes nothing. `lastTransitionTime` moves
 * only when a condition's status does (metav1.Condition). Keeps all decisions but the entries that the patch removes.
 */
export function patchedStatus(
  status: StoredStatus | undefined,
  patch: StatusPatch,
  now: Date,
): StoredStatus | undefined {
  const before = status ?? {}
  const after: StoredStatus = { ...before, observedGeneration: patch.observedGeneration }

  const conditions = [...(before.conditions ?? [])]
  for (const wanted of patch.conditions) {
    const index = conditions.findIndex(({ type }) => type === wanted.type)
    const present = conditions[index]
    const lastTransitionTime = present?.status === wanted.status ? present.lastTransitionTime : timeText(now)
    const condition = { observedGeneration: patch.observedGeneration, ...wanted, lastTransitionTime }
    if (present) conditions[index] = condition
    else conditions.push(condition)
  }
  if (conditions.length > 0) after.conditions = conditions

  for (const [member, value] of Object.entries(patch.fields ?? {})) {
    if (value === undefined) delete after[member]
    else after[member] = value
  }

  if (patch.removeApprovals && after.approvals) {
    after.approvals = after.approvals.filter(({ approver }) => !patch.removeApprovals?.includes(approver))
    if (after.approvals.length === 0) delete after.approvals
  }
  return canonicalText(after) === canonicalText(before) ? undefined : after
}
