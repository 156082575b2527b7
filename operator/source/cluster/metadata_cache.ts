import type { SecretName, SecretVersion } from '../resource_source.ts'
import { isLater, pathKey } from './api_object.ts'
import type { ApiObject } from './api_object.ts'
import type { Sink } from './reflector.ts'

/** What is kept of objects of which only metadata is watched. */
export interface MetadataCache<Kept> {
  get(name: { namespace?: string; name: string }): Kept | undefined
  /** Takes what an API server answered ahead of the watch; an object that is not held is not taken. */
  merge(object: ApiObject): void
  /** For the watch of a part; `covers` tells which objects that is. */
  sink(covers: (held: { namespace?: string; name: string }) => boolean): Sink
}

export interface MetadataCacheOptions<Kept> {
  keep: (metadata: ApiObject['metadata']) => Kept
  /** True when a change between two states is worth telling. */
  differs: (before: Kept, after: Kept) => boolean
  tell: (name: SecretName) => void
}

interface Held<Kept> {
  namespace: string
  name: string
  uid: string
  resourceVersion: string
  kept: Kept
}

export function metadataCache<Kept>({ keep, differs, tell }: MetadataCacheOptions<Kept>): MetadataCache<Kept> {
  const held = new Map<string, Held<Kept>>()

  function put({ metadata }: ApiObject): void {
    const { namespace = '', name, uid, resourceVersion } = metadata
    const before = held.get(pathKey(metadata))
    if (before?.uid === uid && !isLater(resourceVersion, before.resourceVersion)) return
    const kept = keep(metadata)
    held.set(pathKey(metadata), { namespace, name, uid, resourceVersion, kept })
    if (before === undefined || differs(before.kept, kept)) tell({ namespace, name })
  }

  function drop({ namespace, name }: SecretName): void {
    held.delete(pathKey({ namespace, name }))
    tell({ namespace, name })
  }

  return {
    get: (name) => held.get(pathKey(name))?.kept,
    merge(object) {
      if (held.get(pathKey(object.metadata))?.uid === object.metadata.uid) put(object)
    },
    sink: (covers) => ({
      replace: async (objects) => () => {
        const present = new Set(objects.map(({ metadata }) => pathKey(metadata)))
        for (const each of held.values()) if (covers(each) && !present.has(pathKey(each))) drop(each)
        objects.forEach(put)
      },
      apply: async (events) => () => {
        for (const { type, object } of events) {
          if (type !== 'DELETED') put(object)
          else if (held.get(pathKey(object.metadata))?.uid === object.metadata.uid) {
            drop({ namespace: '', ...object.metadata })
          }
        }
      },
    }),
  }
}

/** What is kept of a Secret: enough to know that it is another one, or changed. */
export function secretVersions(tell: (name: SecretName) => void): MetadataCache<SecretVersion> {
  return metadataCache<SecretVersion>({
    keep: ({ uid, resourceVersion }) => ({ uid, resourceVersion }),
    differs: (before, after) => before.uid !== after.uid || before.resourceVersion !== after.resourceVersion,
    tell,
  })
}
