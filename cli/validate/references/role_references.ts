import type { Realm } from '../../../crds/realm.gen.ts'
import { fieldRole, REALM_ADMIN_ROLE } from '../../../store/realms.ts'
import { didYouMean } from '../../../crds/validation/suggestion.ts'
import type { Finding } from '../finding.ts'
import { findingAt } from '../manifest.ts'
import type { Manifest } from '../manifest.ts'
import { realmName, realmOf } from '../manifest_set.ts'
import type { ManifestSet, Typed } from '../manifest_set.ts'

/** Reports roles that their realm does not have, in composites, in Clients and in RoleAssignments. */
export function roleReferenceFindings(set: ManifestSet): Finding[] {
  return [
    ...set.realms.flatMap((realm) => compositeFindings(realm)),
    ...set.clients.flatMap((client) => {
      const path = ['spec', 'allowedRoles']
      return unknownRoles(client.manifest, path, client.value.spec.allowedRoles ?? [], realmOf(set, client))
    }),
    ...set.roleAssignments.flatMap((assignment) => {
      const path = ['spec', 'roles']
      return unknownRoles(assignment.manifest, path, assignment.value.spec.roles, realmOf(set, assignment))
    }),
  ]
}

function compositeFindings(realm: Typed<Realm>): Finding[] {
  return (realm.value.spec.roles ?? []).flatMap(({ composites = [] }, index) =>
    unknownRoles(realm.manifest, ['spec', 'roles', index, 'composites'], composites, realm),
  )
}

function unknownRoles(
  manifest: Manifest,
  path: (string | number)[],
  roles: string[],
  realm: Typed<Realm> | undefined,
): Finding[] {
  if (!realm) return []
  const known = rolesOf(realm)
  return roles.flatMap((role, index) => {
    if (known.includes(role)) return []
    const message = `the realm "${realmName(realm)}" has no role ${role}${didYouMean(role, known)}`
    return [findingAt(manifest, 'error', [...path, index], message)]
  })
}

/** The roles that a realm lists, and those that every realm has. */
function rolesOf(realm: Typed<Realm>): string[] {
  const { roles = [], fieldEncryption } = realm.value.spec
  const tags = (fieldEncryption?.fields ?? []).map(({ name, tag }) => tag ?? name.toLowerCase())
  return [
    ...roles.map(({ name }) => name),
    REALM_ADMIN_ROLE,
    `default-roles-${realmName(realm)}`,
    ...tags.flatMap((tag) => [fieldRole(tag, 'encrypt'), fieldRole(tag, 'decrypt')]),
  ]
}
