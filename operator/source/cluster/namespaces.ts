import { isDeepStrictEqual } from 'node:util'
import { metadataCache } from './metadata_cache.ts'
import type { MetadataCache } from './metadata_cache.ts'
import type { Sink } from './reflector.ts'

type Labels = Record<string, string>
type Covers = Parameters<MetadataCache<Labels>['sink']>[0]

export interface NamespaceLabels {
  /** Undefined when there is no such namespace. */
  labels(namespace: string): Labels | 'unknown' | undefined
  sink: MetadataCache<Labels>['sink']
}

/** @param options.tell called when a namespace appeared, went, or has other labels */
export function namespaceLabels(options: { tell: () => void }): NamespaceLabels {
  const cache = metadataCache<Labels>({
    keep: ({ labels = {} }) => labels,
    differs: (before, after) => !isDeepStrictEqual(before, after),
    tell: options.tell,
  })
  const listed: Covers[] = []

  return {
    labels(namespace) {
      const isListed = listed.some((covers) => covers({ name: namespace }))
      return cache.get({ name: namespace }) ?? (isListed ? undefined : 'unknown')
    },
    sink(covers) {
      const sink: Sink = cache.sink(covers)
      return {
        async replace(objects) {
          const takeOver = await sink.replace(objects)
          if (!listed.includes(covers)) listed.push(covers)
          return takeOver
        },
        apply: (events) => sink.apply(events),
      }
    },
  }
}
