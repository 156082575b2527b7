import type { ReflectorOptions } from '../../../kubernetes/reflector.ts'
import type { Kind } from '../resource.ts'
import { CRDS_PATH, corePath, crdName, kindPath, NAMESPACES_PATH } from './api_names.ts'
import type { Covers } from './metadata_cache.ts'

type Watch = Pick<ReflectorOptions, 'what' | 'path' | 'fieldSelector' | 'metadataOnly'>
type Namespaces = readonly string[] | undefined

/** The objects of a kind: one watch for each namespace, or one for all. */
export function kindWatches(kind: Kind, namespaces: Namespaces): (Watch & { namespace: string | undefined })[] {
  return (namespaces ?? [undefined]).map((namespace) => ({
    what: inWords(crdName(kind), namespace),
    path: kindPath(kind, namespace),
    namespace,
  }))
}

/** The CustomResourceDefinition of a kind. By name, so that the right to read these four is enough. */
export function crdWatch(kind: Kind): Watch {
  const name = crdName(kind)
  return {
    what: `CustomResourceDefinition ${name}`,
    path: CRDS_PATH,
    fieldSelector: `metadata.name=${name}`,
    metadataOnly: true,
  }
}

/** Namespaces, which Realms select by their labels. */
export function namespaceWatches(namespaces: Namespaces): (Watch & { covers: Covers })[] {
  const every = { path: NAMESPACES_PATH, metadataOnly: true }
  if (!namespaces) return [{ ...every, what: 'namespaces', covers: () => true }]
  return namespaces.map((namespace) => ({
    ...every,
    what: `namespace ${namespace}`,
    fieldSelector: `metadata.name=${namespace}`,
    covers: ({ name }) => name === namespace,
  }))
}

/** The metadata of Secrets, also in the namespace of the keyrings. */
export function secretWatches(namespaces: Namespaces, keyringNamespace: string): (Watch & { covers: Covers })[] {
  const scopes = namespaces ? new Set([...namespaces, keyringNamespace]) : [undefined]
  return [...scopes].map((namespace) => ({
    what: inWords('secrets', namespace),
    path: corePath('secrets', namespace),
    metadataOnly: true,
    covers: (secret) => namespace === undefined || secret.namespace === namespace,
  }))
}

/** For people: `users in all namespaces`. */
function inWords(plural: string, namespace: string | undefined): string {
  return namespace === undefined ? `${plural} in all namespaces` : `${plural} in namespace ${namespace}`
}
