import { KINDS, keyText } from '../resource.ts'
import type { Kind, Resource, ResourceKey } from '../resource.ts'
import { heldKey, isHeldObject, resourceOf } from './held_object.ts'
import type { Held } from './held_object.ts'
import type { Change, StateFile } from './state_file.ts'

/** The held objects, with the views that reconcilers ask for. Every change goes to the state file first. */
export interface Objects {
  readonly identity: string
  readonly held: ReadonlyMap<string, Held>
  list(kind: Kind): Resource[]
  get(key: ResourceKey): Resource | undefined
  /** Labels of a namespace; it exists when an object names it. */
  namespaceLabels(namespace: string): Record<string, string> | undefined
  write(changes: Change[], options?: { durable?: boolean }): void
}

/** `changed` is told what was there before and what is there now, once it is safe on disk. */
export function heldObjects(
  state: StateFile,
  changed: (before: Held | undefined, after: Held | undefined) => void,
): Objects {
  const views = new Map<Kind, Map<string, Resource>>(KINDS.map((kind) => [kind, new Map()]))
  const namespaces = new Map<string, number>()

  function view(before: Held | undefined, after: Held | undefined): void {
    if (before) namespaces.set(before.namespace, (namespaces.get(before.namespace) ?? 0) - 1)
    if (after) namespaces.set(after.namespace, (namespaces.get(after.namespace) ?? 0) + 1)
    if (after && isHeldObject(after)) views.get(after.kind)?.set(heldKey(after), resourceOf(after))
    else if (before && isHeldObject(before)) views.get(before.kind)?.delete(heldKey(before))
  }
  for (const held of state.held.values()) view(undefined, held)

  return {
    identity: state.identity,
    held: state.held,
    list: (kind) => [...(views.get(kind)?.values() ?? [])],
    get: (key) => views.get(key.kind)?.get(keyText(key)),
    namespaceLabels(namespace) {
      const manifest = state.held.get(heldKey({ kind: 'Namespace', namespace: '', name: namespace }))
      if (!manifest && (namespace === '' || !namespaces.get(namespace))) return undefined
      const labels = manifest?.kind === 'Namespace' ? manifest.labels : {}
      return { ...labels, 'kubernetes.io/metadata.name': namespace }
    },
    write(changes, options) {
      if (changes.length === 0) return
      const keys = changes.map((change) => ('put' in change ? heldKey(change.put) : change.gone))
      const before = keys.map((key) => state.held.get(key))
      state.write(changes, options)
      const pairs = keys.map((key, index) => [before[index], state.held.get(key)] as const)
      for (const [former, present] of pairs) view(former, present)
      for (const [former, present] of pairs) changed(former, present)
    },
  }
}
