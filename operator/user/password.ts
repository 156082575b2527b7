import { findUserByUid } from '../../store/users.ts'
import type { ReconcilerDeps } from '../deps.ts'
import { referencedValue, secretText, sourceText, unusableValue } from '../view/referenced_secret.ts'
import type { UnusableValue } from '../view/referenced_secret.ts'
import { realmName } from '../view/resource_types.ts'
import type { RealmResource, UserResource } from '../view/resource_types.ts'
import type { PasswordState } from '../rows/row_digest.ts'
import type { KnownUser } from '../rows/rows.ts'
import { KEEP_HASH } from './rows.ts'
import type { UserWrite } from './rows.ts'

export interface ResolvedPassword {
  /** The state of the Secret that the password was read from. */
  source: string | null
  state: PasswordState
  write: Pick<UserWrite, 'passwordHash' | 'passwordChanged'>
  /** Why the password of the spec cannot be used. The former one, if any, stays. */
  problem?: UnusableValue
}

/** In characters; logins accept no longer password. */
const MAX_LENGTH = 1_024

/**
 * The password that a User's row must hold. It is hashed only when the Secret has another password, or when the stored
 * hash cannot be used: a Secret that changed in other ways keeps hash and sessions.
 */
export async function resolvePassword(
  { metadata, spec }: UserResource,
  known: KnownUser | undefined,
  realm: RealmResource,
  { store, rows, secrets, passwords }: Pick<ReconcilerDeps, 'store' | 'rows' | 'secrets' | 'passwords'>,
): Promise<ResolvedPassword> {
  const ref = spec.passwordSecretRef
  if (!ref) return none(known?.hasUsableHash === true)
  const name = { namespace: metadata.namespace, name: ref.name }
  const version = secrets.version(name)
  if (
    known?.hasUsableHash &&
    !known.mustVerify &&
    version &&
    isMadeFrom(known.passwordSource, sourceText(version, ref.key))
  ) {
    return unchanged(known)
  }

  const value = await referencedValue(secrets, name, ref.key)
  const unusable = (detail: string): ResolvedPassword => ({
    ...unchanged(known),
    problem: unusableValue('password', name, ref.key, detail),
  })
  if (!value.found) return unusable(value.detail)
  // In NFC, as logins compare it.
  const read = secretText(value.bytes, { minLength: 1, maxLength: MAX_LENGTH, form: 'NFC' })
  if (!read.usable) return unusable(`it ${read.detail}`)

  const source = `${sourceText(value.version, ref.key)}${read.newlineDropped ? NEWLINE_DROPPED : ''}`
  if (known?.hasUsableHash) {
    const present = await findUserByUid(store.db, known.realm, known.resourceUid)
    if (present?.passwordHash && (await passwords.matches(known.realm, present.passwordHash, read.value))) {
      rows.users.amend({ ...known, mustVerify: false })
      return { ...unchanged(known), source }
    }
  }
  const passwordHash = await passwords.hash(realmName(realm), read.value, realm.spec.passwordHashing)
  return { source, state: 'usable', write: { passwordHash, passwordChanged: known?.hasUsableHash === true } }
}

const NEWLINE_DROPPED = ' newline'

/** Whether the newline at the end of the password's entry was dropped. */
export function wasNewlineDropped(source: string | null): boolean {
  return source?.endsWith(NEWLINE_DROPPED) === true
}

function isMadeFrom(source: string | null, text: string): boolean {
  return source === text || source === `${text}${NEWLINE_DROPPED}`
}

function unchanged(known: KnownUser | undefined): ResolvedPassword {
  if (!known?.hasUsableHash) return none(false)
  return { source: known.passwordSource, state: 'usable', write: { passwordHash: KEEP_HASH, passwordChanged: false } }
}

function none(passwordChanged: boolean): ResolvedPassword {
  return { source: null, state: 'none', write: { passwordHash: null, passwordChanged } }
}
