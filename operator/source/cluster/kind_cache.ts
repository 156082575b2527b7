import type { Kind, Resource, ResourceKey } from '../resource.ts'
import { isLater, pathKey } from './api_object.ts'
import type { ApiObject } from './api_object.ts'
import { receive } from './received_object.ts'
import type { Received } from './received_object.ts'
import type { Sink } from './reflector.ts'
import type { WatchEvent } from './watch_stream.ts'

/** The objects of one kind, as last seen. */
export interface KindCache {
  list(): Resource[]
  get(key: Pick<ResourceKey, 'namespace' | 'name'>): Received | undefined
  /**
   * Takes what the API server answered to a write, or to a look, ahead of the watch. An object that is not held is
   * not taken: its deletion may have been seen already, and would not be seen again. Nor is one that is news in that it
   * is being deleted: the watch brings it, after a look at its kind.
   */
  merge(object: ApiObject): Received
  /** For the watch of one namespace, or of all. */
  sink(namespace: string | undefined): Sink
}

export interface KindCacheOptions {
  kind: Kind
  /** Called for each object that appeared, changed or went. */
  tell: (key: ResourceKey) => void
  /**
   * Called before a list or a deletion is believed: objects that go because their kind goes look like any others.
   * What it rejects is seen again.
   */
  confirmKind: () => Promise<void>
}

export function kindCache({ kind, tell, confirmKind }: KindCacheOptions): KindCache {
  const held = new Map<string, Received>()

  function put(received: Received): void {
    const { namespace, name } = received.resource.metadata
    held.set(pathKey({ namespace, name }), received)
    tell({ kind, namespace, name })
  }

  function drop({ metadata: { namespace, name } }: Resource): void {
    held.delete(pathKey({ namespace, name }))
    tell({ kind, namespace, name })
  }

  function find(object: ApiObject): Received | undefined {
    return held.get(pathKey(object.metadata))
  }

  /** An answer to a write of ours may have been ahead of the watch. */
  function isNews(object: ApiObject): boolean {
    const present = find(object)?.resource.metadata
    if (present?.uid !== object.metadata.uid) return true
    return isLater(object.metadata.resourceVersion, present.resourceVersion)
  }

  /** True when somebody asked for the object to go since it was last seen. */
  function isDeletion(object: ApiObject): boolean {
    if (object.metadata.deletionTimestamp === undefined) return false
    return find(object)?.resource.metadata.deletionTimestamp === undefined
  }

  return {
    list: () => [...held.values()].map(({ resource }) => resource),
    get: (key) => held.get(pathKey(key)),
    merge(object) {
      const received = receive(kind, object)
      const isHeld = find(object)?.resource.metadata.uid === object.metadata.uid
      if (isHeld && isNews(object) && !isDeletion(object)) put(received)
      return received
    },
    sink: (namespace) => ({
      async replace(objects) {
        // Also when nothing is missing: the list belongs to the kind as it is afterwards, or to a former one.
        await confirmKind()
        return () => {
          const uids = new Set(objects.map(({ metadata }) => metadata.uid))
          for (const { resource } of held.values()) {
            const isCovered = namespace === undefined || resource.metadata.namespace === namespace
            if (isCovered && !uids.has(resource.metadata.uid)) drop(resource)
          }
          for (const object of objects) if (isNews(object)) put(receive(kind, object))
        }
      },
      async apply(events) {
        if (events.some(({ type, object }) => type === 'DELETED' || isDeletion(object))) await confirmKind()
        return () => events.forEach(take)
      },
    }),
  }

  function take({ type, object }: WatchEvent): void {
    const present = find(object)
    if (type !== 'DELETED') {
      if (isNews(object)) put(receive(kind, object))
    } else if (present?.resource.metadata.uid === object.metadata.uid) drop(present.resource)
  }
}
