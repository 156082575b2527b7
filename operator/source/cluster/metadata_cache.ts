import { isDeepStrictEqual } from 'node:util'
import { isLater, pathKey } from '../../../kubernetes/api_object.ts'
import type { ApiMetadata, ApiObject } from '../../../kubernetes/api_object.ts'
import type { Sink } from '../../../kubernetes/reflector.ts'
import type { SecretName, SecretVersion } from '../resource_source.ts'
import { answersAhead } from './answers_ahead.ts'

/** Whether a watch covers an object. */
export type Covers = (object: { namespace?: string; name: string }) => boolean

/** Holds a part of the metadata of objects that are watched without their content. */
export interface MetadataCache<Part> {
  get(name: { namespace?: string; name: string }): Part | undefined
  /**
   * Takes the answer to a write, ahead of the watch. Ignores an object that is not in the cache: its deletion may have
   * been received already, and would not be received again.
   */
  merge(object: ApiObject): void
  /** The sink of the watch of those objects that `covers` selects. */
  sink(covers: Covers): Sink
}

export interface MetadataCacheOptions<Part> {
  partOf: (metadata: ApiMetadata) => Part
  /** Called for each object that appeared or disappeared, or of which that part changed. */
  changed: (name: SecretName) => void
}

interface Entry<Part> extends SecretName {
  uid: string
  resourceVersion: string
  part: Part
}

function metadataCache<Part>({ partOf, changed }: MetadataCacheOptions<Part>): MetadataCache<Part> {
  const entries = new Map<string, Entry<Part>>()
  const ahead = answersAhead()

  function put({ metadata }: ApiObject): void {
    const { namespace = '', name, uid, resourceVersion } = metadata
    const before = entries.get(pathKey(metadata))
    ahead.forget(pathKey(metadata))
    const part = partOf(metadata)
    entries.set(pathKey(metadata), { namespace, name, uid, resourceVersion, part })
    if (before === undefined || !isDeepStrictEqual(before.part, part)) changed({ namespace, name })
  }

  function drop({ namespace, name }: SecretName): void {
    ahead.forget(pathKey({ namespace, name }))
    entries.delete(pathKey({ namespace, name }))
    changed({ namespace, name })
  }

  function isCached({ metadata }: ApiObject): boolean {
    return entries.get(pathKey(metadata))?.uid === metadata.uid
  }

  /** False for an event or an answer that is older than what another answer brought. */
  function isNew({ metadata }: ApiObject): boolean {
    const before = entries.get(pathKey(metadata))
    return before?.uid !== metadata.uid || isLater(metadata.resourceVersion, before.resourceVersion)
  }

  return {
    get: (name) => entries.get(pathKey(name))?.part,
    merge(object) {
      if (!isCached(object) || !isNew(object)) return
      put(object)
      ahead.answered(pathKey(object.metadata))
    },
    sink(covers) {
      let isAhead = ahead.listBegins()
      return {
        listBegins() {
          isAhead = ahead.listBegins()
        },
        replace: async (objects, list) => () => {
          const present = new Set(objects.map(({ metadata }) => pathKey(metadata)))
          for (const each of entries.values()) if (covers(each) && !present.has(pathKey(each))) drop(each)
          for (const object of objects) {
            const key = pathKey(object.metadata)
            const before = entries.get(key)
            const isSame = before?.uid === object.metadata.uid
            if (!isSame || !isAhead({ key, resourceVersion: before.resourceVersion }, list)) put(object)
          }
        },
        apply: async (events) => () => {
          for (const { type, object } of events) {
            if (type !== 'DELETED') {
              if (isNew(object)) put(object)
            } else if (isCached(object)) drop({ namespace: '', ...object.metadata })
          }
        },
      }
    },
  }
}

/** Identifies the present state of each Secret, without its bytes. */
export function secretVersions(changed: (name: SecretName) => void): MetadataCache<SecretVersion> {
  return metadataCache({ partOf: ({ uid, resourceVersion }): SecretVersion => ({ uid, resourceVersion }), changed })
}

export interface NamespaceLabels {
  /** Undefined when the namespace does not exist; `unknown` until the namespaces that cover it were listed. */
  labels(namespace: string): Record<string, string> | 'unknown' | undefined
  sink(covers: Covers): Sink
}

/** @param changed called when a namespace appeared, disappeared, or has other labels */
export function namespaceLabels(changed: () => void): NamespaceLabels {
  const cache = metadataCache({ partOf: ({ labels = {} }) => labels, changed })
  const listed: Covers[] = []

  return {
    labels(namespace) {
      const isListed = listed.some((covers) => covers({ name: namespace }))
      return cache.get({ name: namespace }) ?? (isListed ? undefined : 'unknown')
    },
    sink(covers) {
      const sink = cache.sink(covers)
      return {
        ...sink,
        async replace(objects, list) {
          const takeOver = await sink.replace(objects, list)
          if (!listed.includes(covers)) listed.push(covers)
          return takeOver
        },
      }
    },
  }
}
