import type { Finding } from '../finding.ts'
import { findingAt } from '../manifest.ts'
import { presence, realmName, realmOf } from '../manifest_set.ts'
import type { ManifestSet } from '../manifest_set.ts'

/** That each RoleAssignment names a User of its namespace and realm, or its realm's one Group from the realm's namespace. */
export function subjectReferenceFindings(set: ManifestSet): Finding[] {
  return set.roleAssignments.flatMap((assignment) => {
    const { manifest, value } = assignment
    const { kind, name } = value.spec.subject
    const realm = realmOf(set, assignment)
    const say = (severity: 'error' | 'note', field: string, message: string) => [
      findingAt(manifest, severity, { path: ['spec', 'subject', field], message }),
    ]

    if (kind === 'Group') {
      if (!realm) return []
      if (realm.manifest.namespace !== manifest.namespace) {
        return say(
          'error',
          'kind',
          `a Group gets roles only from the Realm's own namespace, ${realm.manifest.namespace}`,
        )
      }
      const group = `default-roles-${realmName(realm)}`
      return name === group ? [] : say('error', 'name', `the only Group of this realm is ${group}`)
    }

    const found = presence(set, 'User', manifest.namespace, name)
    if (found === 'missing') {
      return say(
        'error',
        'name',
        `no User ${manifest.namespace}/${name} among these files; name one that exists, or add it`,
      )
    }
    if (found === 'elsewhere') {
      return say('note', 'name', `no User ${manifest.namespace}/${name} among these files`)
    }
    const user = set.users.find((one) => one.manifest.namespace === manifest.namespace && one.manifest.name === name)
    const itsRealm = user && realmOf(set, user)
    if (!realm || !itsRealm || itsRealm === realm) return []
    return say('error', 'name', `the User ${name} belongs to another realm, "${realmName(itsRealm)}"`)
  })
}
