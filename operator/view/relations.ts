import { usernameKey } from '../../store/username.ts'
import { REALM_ADMIN_ROLE } from '../../store/realms.ts'
import { keyringSecretName } from '../../keyring/keyring.ts'
import { pathOf, realmName } from './resource_types.ts'
import type {
  ClientResource,
  NamesRealm,
  RealmResource,
  RoleAssignmentResource,
  UserResource,
} from './resource_types.ts'
import type { SecretName } from '../source/resource_source.ts'

/**
 * Dependencies between resources, as texts. `uses`: what a resource depends on. `is`: the texts under which others depend
 * on it. A change of a resource enqueues those that use one of its `is`. `claims`: names of which one resource is the
 * holder. A change of the holder enqueues those that use the name; when the holder goes, the next claimant is enqueued.
 */
export interface Relations {
  is: string[]
  claims: string[]
  uses: string[]
}

export const relation = {
  realm: (path: string) => `Realm ${path}`,
  user: (path: string) => `User ${path}`,
  secret: (name: SecretName) => `Secret ${pathOf(name)}`,
  realmName: (name: string) => `realm name ${name}`,
  clientId: (realm: string, clientId: string) => `client id ${realm} ${clientId}`,
  username: (realm: string, username: string) => `username ${realm} ${usernameKey(username)}`,
  subject: (realm: string, subject: string) => `subject ${realm} ${subject}`,
  /** For the Realm that takes a realm name over. */
  transfer: (to: string) => `transfer to Realm ${to}`,
  /** For other resources that count in the status or the keys of a Realm. */
  realmDetails: (path: string) => `details of Realm ${path}`,
}

/** On the Realm that owns a realm name: `namespace/name` of the Realm that takes over the name and the keyring. */
export const TRANSFER_REALM = 'realmkeeper.io/transfer-realm-to'

/** The Realm that takes over the name of this one, as `namespace/name`. */
export function transferTarget({ metadata }: RealmResource): string | undefined {
  return metadata.annotations?.[TRANSFER_REALM]?.trim()
}

export function realmRelations(realm: RealmResource, keyringNamespace: string): Relations {
  const path = pathOf(realm.metadata)
  const name = realmName(realm)
  const license = realm.spec.identityProvider?.licenseSecretRef
  const to = transferTarget(realm)
  return {
    is: [relation.realm(path), ...(to === undefined ? [] : [relation.transfer(to)])],
    claims: [relation.realmName(name)],
    uses: [
      relation.realmDetails(path),
      relation.transfer(path),
      ...(to === undefined ? [] : [relation.realm(to)]),
      relation.secret({ namespace: keyringNamespace, name: keyringSecretName(name) }),
      ...(license ? [relation.secret({ namespace: realm.metadata.namespace, name: license.name })] : []),
    ],
  }
}

export function clientRelations(client: ClientResource): Relations {
  const realm = realmPathOf(client)
  const own = relation.clientId(realm, client.spec.clientId)
  const secret = clientSecretName(client)
  const audiences = (client.spec.audiences ?? []).map((audience) => relation.clientId(realm, audience))
  // A signing key must verify for as long as the longest access token of a client lives.
  const outlives = client.spec.accessTokenLifetimeSeconds !== undefined
  return {
    is: outlives ? [relation.realmDetails(realm)] : [],
    claims: [own],
    uses: [
      relation.realm(realm),
      ...audiences,
      ...(secret ? [relation.secret({ namespace: client.metadata.namespace, name: secret })] : []),
    ],
  }
}

export function userRelations(user: UserResource): Relations {
  const realm = realmPathOf(user)
  const claims = [relation.username(realm, user.spec.username), relation.subject(realm, subjectOf(user))]
  const secret = user.spec.passwordSecretRef
  return {
    is: [relation.user(pathOf(user.metadata))],
    claims,
    uses: [
      relation.realm(realm),
      ...(secret ? [relation.secret({ namespace: user.metadata.namespace, name: secret.name })] : []),
    ],
  }
}

export function roleAssignmentRelations(assignment: RoleAssignmentResource): Relations {
  const realm = realmPathOf(assignment)
  const { subject, roles } = assignment.spec
  const serving = assignment.status?.granted?.serving?.roles ?? []
  const countsForRealm =
    subject.kind === 'Group' || roles.includes(REALM_ADMIN_ROLE) || serving.includes(REALM_ADMIN_ROLE)
  return {
    is: countsForRealm ? [relation.realmDetails(realm)] : [],
    claims: [],
    uses: [
      relation.realm(realm),
      ...(subject.kind === 'User'
        ? [relation.user(pathOf({ namespace: assignment.metadata.namespace, name: subject.name }))]
        : []),
    ],
  }
}

/** `namespace/name` of the Realm that a resource names. */
export function realmPathOf({ metadata, spec }: NamesRealm): string {
  return pathOf({ namespace: spec.realmRef.namespace ?? metadata.namespace, name: spec.realmRef.name })
}

/** The `sub` that a User claims: by default its uid, so that rows rebuilt from the cluster keep their subjects. */
export function subjectOf({ metadata, spec }: UserResource): string {
  return spec.subject ?? metadata.uid
}

/** The name of the Secret that holds, or will hold, a Client's secret; undefined for a public Client. */
export function clientSecretName({ metadata, spec }: ClientResource): string | undefined {
  if (spec.type === 'Public') return undefined
  const { secretRef, generate } = spec.clientSecret ?? {}
  return secretRef?.name ?? generate?.secretName ?? `${metadata.name}-client`
}
