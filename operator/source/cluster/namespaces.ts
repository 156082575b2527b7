import { isDeepStrictEqual } from 'node:util'
import { metadataCache } from './metadata_cache.ts'
import type { MetadataCache } from './metadata_cache.ts'
import type { Sink } from './reflector.ts'

type Labels = Record<string, string>

export interface NamespaceLabels {
  /** Undefined when there is no such namespace. While they may not be listed, the one label that each has. */
  labels(namespace: string): Labels | undefined
  sink: MetadataCache<Labels>['sink']
}

/** @param options.tell called when a namespace appeared, went, or has other labels */
export function namespaceLabels(options: { tell: () => void }): NamespaceLabels {
  const cache = metadataCache<Labels>({
    keep: ({ labels = {} }) => labels,
    differs: (before, after) => !isDeepStrictEqual(before, after),
    tell: options.tell,
  })
  let listed = false

  return {
    labels(namespace) {
      // The one label that every namespace has (KEP-2161).
      return cache.get({ name: namespace }) ?? (listed ? undefined : { 'kubernetes.io/metadata.name': namespace })
    },
    sink(covers) {
      const sink: Sink = cache.sink(covers)
      return {
        async replace(objects) {
          const takeOver = await sink.replace(objects)
          listed = true
          return takeOver
        },
        apply: (events) => sink.apply(events),
      }
    },
  }
}
