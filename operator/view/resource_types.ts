import type { ClientSpec, ClientStatus } from '../../crds/client.gen.ts'
import type { RealmSpec, RealmStatus } from '../../crds/realm.gen.ts'
import type { RoleAssignmentSpec, RoleAssignmentStatus } from '../../crds/role_assignment.gen.ts'
import type { UserSpec, UserStatus } from '../../crds/user.gen.ts'
import type { Kind, ObjectMeta, Resource } from '../source/resource.ts'

export type RealmResource = Resource<RealmSpec, RealmStatus>
export type ClientResource = Resource<ClientSpec, ClientStatus>
export type UserResource = Resource<UserSpec, UserStatus>
export type RoleAssignmentResource = Resource<RoleAssignmentSpec, RoleAssignmentStatus>

interface ByKind {
  Realm: RealmResource
  Client: ClientResource
  User: UserResource
  RoleAssignment: RoleAssignmentResource
}

/** The resource of a kind. Sources validate and default every object, so that the types hold. */
export type ResourceOf<K extends Kind> = ByKind[K]

/** Any resource that belongs to a realm. */
export type NamesRealm = Resource<{ realmRef: { name: string; namespace?: string } }>

/** `namespace/name`. */
export function pathOf({ namespace, name }: Pick<ObjectMeta, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`
}

/** The name of a realm in URLs and rows. */
export function realmName({ metadata, spec }: RealmResource): string {
  return spec.realm ?? metadata.name
}
