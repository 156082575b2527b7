import type { Db } from '../../store/db.ts'
import { deleteGrantsOfSubject } from '../../store/role_assignments.ts'
import { claimSubject, findSubjectOwner } from '../../store/subjects.ts'
import type { SubjectOwner } from '../../store/subjects.ts'
import { deleteUser, findUserByUid, upsertUser } from '../../store/users.ts'
import type { UserRow } from '../../store/users.ts'
import { endSessionsOf } from '../rows/ended_sessions.ts'
import type { RowSource } from '../rows/known_table.ts'
import { NotYet } from '../view/view.ts'
import { pathOf } from '../view/resource_types.ts'
import type { Rows } from '../rows/rows.ts'
import type { StoreAccess } from '../rows/store_access.ts'

/** Leaves the password hash as it is, whoever made it last. */
export const KEEP_HASH = Symbol('keep the hash')

/** A row to write. */
export interface UserWrite {
  row: Omit<UserRow, 'passwordHash'>
  passwordHash: string | null | typeof KEEP_HASH
  /** The password is another one than before: whoever logged in with that one has to log in again. */
  passwordChanged: boolean
}

export type UserWritten = 'written' | 'username_taken' | { subjectOwner: SubjectOwner }

interface Deps {
  store: StoreAccess
  rows: Rows
}

/** Writes one row in one transaction. Throws NotYet when the hash to keep is gone, because somebody dropped the row. */
export async function saveUser({ store, rows }: Deps, { row, ...write }: UserWrite): Promise<UserWritten> {
  await removeFormerUser({ store, rows }, row)
  return rows.users.write(row.resourceUid, async () => {
    const written = await store.transaction((db) => writeUser(db, { row, ...write }, store))
    if (written === 'row_dropped') {
      rows.users.deleted(row.resourceUid)
      throw new NotYet('its row was dropped by somebody else')
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
  const outcome = await upsertUser(db, whole)
  if (outcome === 'username_taken') return outcome
  if (outcome === 'subject_taken') return { subjectOwner: owner }
  const { realm, subject } = row
  if (passwordChanged) await endSessionsOf(db, { realm, subject }, 'password_changed', store)
  return whole
}

/**
 * Removes a User's row with all that it gave; its sessions end. True when there was one. `claim` is for a row that
 * somebody dropped before: the sessions end all the same, if the `sub` was this User's.
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
      // A User made anew with the same sub must not find the roles of this one.
      await deleteGrantsOfSubject(db, whose.realm, whose.subject)
      await endSessionsOf(db, { realm: whose.realm, subject: whose.subject }, 'user_removed', store)
      return row !== undefined
    })
    rows.users.deleted(resourceUid)
    return removed
  })
}

/** Removes the row of another User that was of this `namespace/name`: of two, the former one is gone. */
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

/** Takes a User's row out of a realm that does not take it; its sessions stay, and are good again if it comes back. */
export async function withdrawUser({ store, rows }: Deps, resourceUid: string): Promise<boolean> {
  if (!rows.users.get(resourceUid)) return false
  await rows.users.write(resourceUid, async () => {
    await store.transaction((db) => deleteUser(db, resourceUid))
    rows.users.deleted(resourceUid)
  })
  return true
}
