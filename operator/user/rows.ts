import type { Db } from '../../store/db.ts'
import { deleteGrantsOfSubject } from '../../store/role_assignments.ts'
import { claimSubject, deleteUser, findSubjectOwner, findUserByUid, upsertUser } from '../../store/users.ts'
import type { SubjectOwner, UserRow } from '../../store/users.ts'
import type { ReconcilerDeps } from '../deps.ts'
import { endSessionsOf } from '../rows/ended_sessions.ts'
import type { RowSource } from '../rows/known_table.ts'
import { NotYet } from '../view/view.ts'
import { pathOf } from '../view/resource_types.ts'
import type { StoreAccess } from '../rows/store_access.ts'

/** Keeps the password hash of the row, which a server may have renewed. */
export const KEEP_HASH = Symbol('keep the hash')

/** A row to write. */
export interface UserWrite {
  row: Omit<UserRow, 'passwordHash'>
  passwordHash: string | null | typeof KEEP_HASH
  /** The password is another one than before: the sessions of the user end. */
  passwordChanged: boolean
}

export type UserWritten = 'written' | 'username_taken' | { subjectOwner: SubjectOwner }

type Deps = Pick<ReconcilerDeps, 'store' | 'rows'>

/** Writes one row in one transaction. Throws NotYet when the row with the hash to keep is gone. */
export async function saveUser({ store, rows }: Deps, { row, ...write }: UserWrite): Promise<UserWritten> {
  await removeFormerUser({ store, rows }, row)
  return rows.users.write(row.resourceUid, async () => {
    const written = await store.transaction((db) => writeUser(db, { row, ...write }, store))
    if (written === 'row_dropped') {
      rows.users.deleted(row.resourceUid)
      throw new NotYet('another client of the database deleted the row; the operator writes it again')
    }
    if (typeof written === 'string' || 'subjectOwner' in written) return written
    rows.users.written(written)
    return 'written'
  })
}

async function writeUser(
  db: Db,
  { row, passwordHash, passwordChanged }: UserWrite,
  store: StoreAccess,
): Promise<UserRow | Exclude<UserWritten, 'written'> | 'row_dropped'> {
  const owner = await claimSubject(db, row.realm, row.subject, row, store.now())
  if (owner.namespace !== row.namespace || owner.name !== row.name) return { subjectOwner: owner }

  const present = passwordHash === KEEP_HASH ? await findUserByUid(db, row.realm, row.resourceUid) : undefined
  if (passwordHash === KEEP_HASH && !present) return 'row_dropped'
  const whole = { ...row, passwordHash: passwordHash === KEEP_HASH ? (present?.passwordHash ?? null) : passwordHash }
  const written = await upsertUser(db, whole)
  if (written === 'username_taken') return written
  if (written === 'subject_taken') return { subjectOwner: owner }
  const { realm, subject } = row
  if (passwordChanged) await endSessionsOf(db, { realm, subject }, 'password_changed', store)
  return whole
}

/**
 * Deletes a User's row and its grants, and its sessions end. True when there was a row. Where another client of the
 * database has deleted the row before, the sessions of the `sub` in `claim` end, if it was this User's.
 */
export async function removeUser(
  { store, rows }: Deps,
  resourceUid: string,
  claim?: SubjectOwner & { realm: string; subject: string },
): Promise<boolean> {
  return rows.users.write(resourceUid, async () => {
    const removed = await store.transaction(async (db) => {
      const row = await deleteUser(db, resourceUid)
      const whose = row ?? (claim && (await claimedBy(db, claim)))
      if (!whose) return false
      // A later User with the same sub must not inherit the roles.
      await deleteGrantsOfSubject(db, whose.realm, whose.subject)
      await endSessionsOf(db, { realm: whose.realm, subject: whose.subject }, 'user_removed', store)
      return row !== undefined
    })
    rows.users.deleted(resourceUid)
    return removed
  })
}

/** Removes the row of a former User with this `namespace/name` and another uid. */
export async function removeFormerUser(deps: Deps, of: RowSource): Promise<void> {
  const former = deps.rows.users.atPath(pathOf(of))
  if (former && former.resourceUid !== of.resourceUid) await removeUser(deps, former.resourceUid)
}

async function claimedBy(
  db: Db,
  { realm, subject, ...claimant }: SubjectOwner & { realm: string; subject: string },
): Promise<{ realm: string; subject: string } | undefined> {
  const owner = await findSubjectOwner(db, realm, subject)
  return owner?.namespace === claimant.namespace && owner.name === claimant.name ? { realm, subject } : undefined
}

/** Deletes the row of a User that its realm does not admit. Sessions stay, and are valid again when the User is. */
export async function withdrawUser({ store, rows }: Deps, resourceUid: string): Promise<boolean> {
  if (!rows.users.get(resourceUid)) return false
  await rows.users.write(resourceUid, async () => {
    await store.transaction((db) => deleteUser(db, resourceUid))
    rows.users.deleted(resourceUid)
  })
  return true
}
