import type { ReconcilerDeps } from '../deps.ts'
import { heldResult, isPaused } from '../controller/paused.ts'
import { notReady, ready, unusable } from '../controller/reconciler.ts'
import type { Reconciler } from '../controller/reconciler.ts'
import { realmPathOf, relation, subjectOf } from '../view/relations.ts'
import { pathOf, realmName } from '../view/resource_types.ts'
import type { UserResource } from '../view/resource_types.ts'
import { userDigest } from '../rows/row_digest.ts'
import { resolvePassword, wasNewlineDropped } from './password.ts'
import { removeFormerUser, removeUser, saveUser, withdrawUser } from './rows.ts'
import type { UserWrite } from './rows.ts'
import type { View } from '../view/view.ts'

type Deps = Pick<ReconcilerDeps, 'store' | 'rows' | 'secrets' | 'passwords'>

/** Keeps one row of `users` equal to one User resource. */
export function userReconciler(deps: Deps): Reconciler<'User'> {
  const { rows } = deps
  return {
    async reconcile(user, view) {
      const realm = view.realmFor(user)
      if (!realm.admitted) {
        const changed = await withdrawUser(deps, user.metadata.uid)
        return notReady(realm.reason, realm.message, { changed, fields: { subject: undefined } })
      }

      if (isPaused(user)) {
        await removeFormerUser(deps, { resourceUid: user.metadata.uid, ...pathParts(user) })
        return heldResult(user)
      }

      const taken = takenName(user, realm.name, view, rows)
      if (taken) return notReady(taken.reason, taken.message)

      const present = rows.users.get(user.metadata.uid)
      const known = present?.realm === realm.name ? present : undefined
      const password = await resolvePassword(user, known, realm.resource, deps)
      // Without a row no former registration stays in force.
      if (password.problem && !known) return unusable(password.problem)

      const subject = known?.subject ?? subjectOf(user)
      const row = desiredRow(user, realm.name, subject, password.source)
      const isNewHash = typeof password.write.passwordHash === 'string'
      const changed = isNewHash || known?.digest !== userDigest(row, password.state)
      if (changed) {
        const written = await saveUser(deps, { row, ...password.write })
        if (written === 'username_taken') return notReady('UsernameTaken', usernameTaken(user))
        if (written !== 'written') return notReady('SubjectTaken', subjectTaken(subject, pathOf(written.subjectOwner)))
      }

      const rest = { changed, fields: { subject } }
      if (subject !== subjectOf(user)) return notReady('SubjectImmutable', subjectImmutable(user, subject), rest)
      if (password.problem) return unusable(password.problem, rest)
      const detail = wasNewlineDropped(password.source)
        ? 'the newline at the end of the password was dropped'
        : undefined
      return ready('Registered', registered(user, realm.name), { ...rest, detail })
    },

    async finalize(user, view) {
      const { name, namespace = user.metadata.namespace } = user.spec.realmRef
      const realm = view.find('Realm', namespace, name)
      // For a row that another client of the database deleted. Without its realm no session can be used.
      const claim = realm && { realm: realmName(realm), subject: subjectOf(user), ...pathParts(user) }
      await removeFormerUser(deps, { resourceUid: user.metadata.uid, ...pathParts(user) })
      await removeUser(deps, user.metadata.uid, claim)
    },
  }
}

function pathParts({ metadata: { namespace, name } }: UserResource): { namespace: string; name: string } {
  return { namespace, name }
}

/** The username or `sub` that another User holds, if any. */
function takenName(
  user: UserResource,
  realm: string,
  view: View,
  rows: Deps['rows'],
): { reason: string; message: string } | undefined {
  const path = realmPathOf(user)
  const { username } = user.spec
  const subject = subjectOf(user)
  const other = (claim: string, recorded: string | undefined): string | undefined => {
    const holder = view.holderOf('User', claim, recorded)
    return holder && holder.metadata.uid !== user.metadata.uid ? pathOf(holder.metadata) : undefined
  }
  const byName = other(relation.username(path, username), rows.usernameOwner(realm, username))
  if (byName !== undefined) return { reason: 'UsernameTaken', message: usernameTaken(user, byName) }
  const bySubject = other(relation.subject(path, subject), rows.subjectOwner(realm, subject))
  if (bySubject !== undefined) return { reason: 'SubjectTaken', message: subjectTaken(subject, bySubject) }
  return undefined
}

function desiredRow(
  { metadata, spec }: UserResource,
  realm: string,
  subject: string,
  passwordSource: string | null,
): UserWrite['row'] {
  return {
    realm,
    subject,
    resourceUid: metadata.uid,
    namespace: metadata.namespace,
    name: metadata.name,
    generation: metadata.generation,
    username: spec.username,
    email: spec.email ?? null,
    emailVerified: spec.emailVerified,
    firstName: spec.firstName ?? null,
    lastName: spec.lastName ?? null,
    enabled: spec.enabled,
    attributes: spec.attributes ?? {},
    subjectPinned: spec.subject !== undefined,
    passwordSource,
  }
}

function registered({ spec }: UserResource, realm: string): string {
  return `registered in realm "${realm}"${spec.passwordSecretRef ? '' : ', without a password'}`
}

function usernameTaken({ spec }: UserResource, holder = 'another User'): string {
  return `username "${spec.username}" belongs to ${holder}`
}

function subjectTaken(subject: string, holder: string): string {
  return `subject "${subject}" belongs to ${holder} permanently: values may be encrypted for it`
}

function subjectImmutable({ spec }: UserResource, subject: string): string {
  const wanted = spec.subject === undefined ? 'spec.subject cannot be removed' : `it cannot become "${spec.subject}"`
  return `the subject in use is "${subject}" and is immutable: ${wanted}`
}
