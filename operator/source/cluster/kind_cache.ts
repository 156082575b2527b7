import { isDeepStrictEqual } from 'node:util'
import { isLater, pathKey } from '../../../kubernetes/api_object.ts'
import type { ApiObject } from '../../../kubernetes/api_object.ts'
import type { ListState, Sink } from '../../../kubernetes/reflector.ts'
import type { WatchEvent } from '../../../kubernetes/watch_stream.ts'
import { keyOf } from '../resource.ts'
import type { Kind, Resource, ResourceKey } from '../resource.ts'
import { answersAhead } from './answers_ahead.ts'
import { receive } from './received_object.ts'
import type { Received } from './received_object.ts'

/** The latest received state of the objects of one kind. */
export interface KindCache {
  list(): Resource[]
  get(key: Pick<ResourceKey, 'namespace' | 'name'>): Received | undefined
  /**
   * Takes the answer to a read or a write, ahead of the watch. Ignores an object that is not in the cache (its deletion
   * may have been received already, and would not be received again) and one whose deletion is new (the watch brings it,
   * after a check of its kind).
   */
  merge(object: ApiObject): Received
  /** The sink of the watch of one namespace, or of all. */
  sink(namespace: string | undefined): Sink
}

export interface KindCacheOptions {
  kind: Kind
  /** Called for each object that appeared, changed or disappeared. */
  changed: (key: ResourceKey) => void
  /**
   * Called before a list or a deletion is taken over, because the objects of a deleted CRD arrive like objects that a
   * user deleted. When it rejects, the list or the events are received again.
   */
  confirmKind: () => Promise<void>
}

export function kindCache({ kind, changed, confirmKind }: KindCacheOptions): KindCache {
  const cached = new Map<string, Received>()
  const ahead = answersAhead()

  function put(received: Received): void {
    ahead.forget(pathKey(received.resource.metadata))
    cached.set(pathKey(received.resource.metadata), received)
    changed(keyOf(received.resource))
  }

  function drop(resource: Resource): void {
    ahead.forget(pathKey(resource.metadata))
    cached.delete(pathKey(resource.metadata))
    changed(keyOf(resource))
  }

  function find(object: ApiObject): Resource | undefined {
    return cached.get(pathKey(object.metadata))?.resource
  }

  function isCached(object: ApiObject): boolean {
    return find(object)?.metadata.uid === object.metadata.uid
  }

  /** False for an event or an answer that is older than what another answer brought. */
  function isNew(object: ApiObject): boolean {
    const present = find(object)?.metadata
    if (present?.uid !== object.metadata.uid) return true
    return isLater(object.metadata.resourceVersion, present.resourceVersion)
  }

  function isNewlyDeleted(object: ApiObject): boolean {
    return object.metadata.deletionTimestamp !== undefined && find(object)?.metadata.deletionTimestamp === undefined
  }

  function take({ type, object }: WatchEvent): void {
    const present = find(object)
    if (type !== 'DELETED') {
      if (isNew(object)) put(receive(kind, object))
    } else if (present && isCached(object)) drop(present)
  }

  return {
    list: () => [...cached.values()].map(({ resource }) => resource),
    get: (key) => cached.get(pathKey(key)),
    merge(object) {
      const received = receive(kind, object)
      if (isCached(object) && isNew(object) && !isNewlyDeleted(object)) {
        put(received)
        ahead.answered(pathKey(object.metadata))
      }
      return received
    },
    sink(namespace) {
      let isAhead = ahead.listBegins()

      function takeListed(object: ApiObject, list: ListState): void {
        const present = cached.get(pathKey(object.metadata))
        const received = receive(kind, object)
        if (present && isCached(object)) {
          const { resourceVersion } = present.resource.metadata
          if (isAhead({ key: pathKey(object.metadata), resourceVersion }, list)) return
          // By content, because two histories of etcd repeat resource versions.
          if (isDeepStrictEqual(received, present)) return
        }
        put(received)
      }

      return {
        listBegins() {
          isAhead = ahead.listBegins()
        },
        async replace(objects, list) {
          // Also when no object is missing: the list may belong to a former CRD of the kind.
          await confirmKind()
          return () => {
            const uids = new Set(objects.map(({ metadata }) => metadata.uid))
            for (const { resource } of cached.values()) {
              const isCovered = namespace === undefined || resource.metadata.namespace === namespace
              if (isCovered && !uids.has(resource.metadata.uid)) drop(resource)
            }
            for (const object of objects) takeListed(object, list)
          }
        },
        async apply(events) {
          if (events.some(({ type, object }) => type === 'DELETED' || isNewlyDeleted(object))) await confirmKind()
          return () => events.forEach(take)
        },
      }
    },
  }
}
