import { expandRoles } from './expand_roles.ts'
import type { Assignment, DecisionInput, RealmForAssignment, Reason } from './decision.ts'
import { names, printable } from '../../process/printable.ts'

export type Realm = Extract<RealmForAssignment, { admitted: true }>

/** Who a grant is for: the Realm as an object, and the User behind a `sub` unless the subject is a Group. */
export interface Parties {
  realmUID: string
  subjectUID?: string
  sub?: string
}

/** What an assignment names, as it is now. */
export type Found = { realm?: Realm; parties?: Parties } & (
  | { resolved: true; realm: Realm; parties: Parties; roles: string[] }
  | { resolved: false; reason: Reason; message: string }
)

/** Looks up realm, subject and roles, in this order; the first that is missing is the answer. */
export function resolve({ assignment, realm, user }: Pick<DecisionInput, 'assignment' | 'realm' | 'user'>): Found {
  if (!realm.admitted) return { resolved: false, reason: realm.reason, message: printable(realm.message, 500) }

  const parties = findParties(assignment, realm, user)
  if ('reason' in parties) return { resolved: false, realm, ...parties }

  const { roles, unknown } = expandRoles(assignment.roles, realm)
  if (unknown.length > 0) {
    const message = `realm "${printable(realm.name)}" has no role ${names(unknown)}`
    return { resolved: false, realm, parties, reason: 'RoleNotFound', message }
  }
  return { resolved: true, realm, parties, roles }
}

export function sameParties(one: Parties, other: Parties): boolean {
  return one.realmUID === other.realmUID && one.subjectUID === other.subjectUID && one.sub === other.sub
}

function findParties(
  { namespace, subject }: Assignment,
  realm: Realm,
  user: DecisionInput['user'],
): Parties | { reason: Reason; message: string } {
  if (subject.kind === 'User') {
    if (user?.realmUid === realm.uid) return { realmUID: realm.uid, subjectUID: user.uid, sub: user.sub }
    const where = `realm "${printable(realm.name)}"`
    return { reason: 'SubjectNotFound', message: `no User ${namespace}/${printable(subject.name)} in ${where}` }
  }

  const group = `default-roles-${realm.name}`
  if (subject.name !== group) {
    return {
      reason: 'SubjectNotFound',
      message: `no Group ${printable(subject.name)}; the realm's only one is ${group}`,
    }
  }
  if (namespace !== realm.namespace) {
    const message = `roles for ${group}, every user of the realm, are assigned in the Realm's own namespace ${realm.namespace}`
    return { reason: 'NamespaceNotAllowed', message }
  }
  return { realmUID: realm.uid }
}
