import type { Kind } from '../resource.ts'

export const API_VERSION = 'realmkeeper.io/v1alpha1'

const PLURALS: Record<Kind, string> = {
  Realm: 'realms',
  Client: 'clients',
  User: 'users',
  RoleAssignment: 'roleassignments',
}

export const CRDS_PATH = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
export const NAMESPACES_PATH = '/api/v1/namespaces'

/** The name of a kind's CRD. */
export function crdName(kind: Kind): string {
  return `${PLURALS[kind]}.realmkeeper.io`
}

/** Objects of a kind, in one namespace or in all. */
export function kindPath(kind: Kind, namespace: string | undefined): string {
  return `/apis/${API_VERSION}${inNamespace(namespace)}/${PLURALS[kind]}`
}

/** One object. */
export function objectPath({ kind, namespace, name }: { kind: Kind; namespace: string; name: string }): string {
  return `${kindPath(kind, namespace)}/${encodeURIComponent(name)}`
}

/** Objects of the core group, as `secrets`, in one namespace or in all. */
export function corePath(plural: 'secrets' | 'events', namespace: string | undefined): string {
  return `/api/v1${inNamespace(namespace)}/${plural}`
}

/** For people: `users in all namespaces`. */
export function placeOf(plural: string, namespace: string | undefined): string {
  return namespace === undefined ? `${plural} in all namespaces` : `${plural} in namespace ${namespace}`
}

function inNamespace(namespace: string | undefined): string {
  return namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`
}
