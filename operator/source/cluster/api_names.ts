import { API_VERSION, GROUP } from '../../../crds/group.ts'
import type { Kind } from '../resource.ts'

/** The field manager of everything that the operator writes to an API server. */
export const FIELD_MANAGER = 'realmkeeper-operator'
/** The query of a write. */
export const AS_OPERATOR = { fieldManager: FIELD_MANAGER }
/** The query of an apply that takes fields back which another manager took over. */
export const FORCED_AS_OPERATOR = { ...AS_OPERATOR, force: 'true' }

const PLURALS: Record<Kind, string> = {
  Realm: 'realms',
  Client: 'clients',
  User: 'users',
  RoleAssignment: 'roleassignments',
}

export const CRDS_PATH = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
export const NAMESPACES_PATH = '/api/v1/namespaces'

/** The name of a kind's CustomResourceDefinition. */
export function crdName(kind: Kind): string {
  return `${PLURALS[kind]}.${GROUP}`
}

/** The objects of a kind, in one namespace or in all. */
export function kindPath(kind: Kind, namespace: string | undefined): string {
  return `/apis/${API_VERSION}${inNamespace(namespace)}/${PLURALS[kind]}`
}

/** One object. */
export function objectPath({ kind, namespace, name }: { kind: Kind; namespace: string; name: string }): string {
  return `${kindPath(kind, namespace)}/${encodeURIComponent(name)}`
}

/** Objects of the core group, in one namespace or in all. */
export function corePath(plural: 'secrets' | 'events', namespace: string | undefined): string {
  return `/api/v1${inNamespace(namespace)}/${plural}`
}

function inNamespace(namespace: string | undefined): string {
  return namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`
}
