import type { RoleAssignment } from '../../../crds/role_assignment.gen.ts'
import type { Finding, Severity } from '../finding.ts'
import { findingAt } from '../manifest.ts'
import { presence, realmName, realmOf } from '../manifest_set.ts'
import type { ManifestSet, Typed } from '../manifest_set.ts'

/** Reports subjects that are not a User of the same namespace and realm, or the Group of the realm in its namespace. */
export function subjectReferenceFindings(set: ManifestSet): Finding[] {
  return set.roleAssignments.flatMap((assignment) => {
    const isGroup = assignment.value.spec.subject.kind === 'Group'
    return (isGroup ? groupFinding(set, assignment) : userFinding(set, assignment)) ?? []
  })
}

function groupFinding(set: ManifestSet, assignment: Typed<RoleAssignment>): Finding | undefined {
  const realm = realmOf(set, assignment)
  if (!realm) return undefined
  const { namespace } = realm.manifest
  if (namespace !== assignment.manifest.namespace) {
    return subjectFinding(assignment, 'kind', `a Group gets roles only from the Realm's own namespace, ${namespace}`)
  }
  const group = `default-roles-${realmName(realm)}`
  if (assignment.value.spec.subject.name === group) return undefined
  return subjectFinding(assignment, 'name', `the only Group of this realm is ${group}`)
}

function userFinding(set: ManifestSet, assignment: Typed<RoleAssignment>): Finding | undefined {
  const { namespace } = assignment.manifest
  const { name } = assignment.value.spec.subject
  const found = presence(set, 'User', namespace, name)
  const absent = `no User ${namespace}/${name} among these files`
  if (found === 'missing') return subjectFinding(assignment, 'name', `${absent}; name one that exists, or add it`)
  if (found === 'elsewhere') return subjectFinding(assignment, 'name', absent, 'note')

  const user = set.users.find(({ manifest }) => manifest.namespace === namespace && manifest.name === name)
  const realm = realmOf(set, assignment)
  const realmOfUser = user && realmOf(set, user)
  if (!realm || !realmOfUser || realmOfUser === realm) return undefined
  const message = `the User ${name} belongs to another realm, "${realmName(realmOfUser)}"`
  return subjectFinding(assignment, 'name', message)
}

function subjectFinding(
  { manifest }: Typed<RoleAssignment>,
  field: 'kind' | 'name',
  message: string,
  severity: Severity = 'error',
): Finding {
  return findingAt(manifest, severity, ['spec', 'subject', field], message)
}
