import type { ResourceSource } from '../../operator/source/resource_source.ts'

/** The source as an operator with `--watch-namespaces` sees it. */
export function narrowedTo(source: ResourceSource, namespaces: readonly string[]): ResourceSource {
  const isCovered = ({ namespace }: { namespace: string }) => namespaces.includes(namespace)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- with the source as its prototype
  const narrowed = Object.create(source) as ResourceSource
  return Object.assign(narrowed, {
    scope: namespaces,
    list: (kind) => source.list(kind).filter(({ metadata }) => isCovered(metadata)),
    get: (key) => (isCovered(key) ? source.get(key) : undefined),
    onResource: (listener) =>
      source.onResource((key) => {
        if (isCovered(key)) listener(key)
      }),
  } satisfies Partial<ResourceSource>)
}
