import { noteChange } from '../../store/changes.ts'
import { deleteKeyringRecord } from '../../store/keyring_records.ts'
import type { Db } from '../../store/db.ts'
import { deleteRealm, deleteRowsOfRealm, isBeingRemoved, isRealmOfOther, upsertRealm } from '../../store/realms.ts'
import type { RealmRow } from '../../store/realms.ts'
import type { ReconcilerDeps } from '../deps.ts'
import { endSessionsOf } from '../rows/ended_sessions.ts'
import { realmDigest } from '../rows/row_digest.ts'

type Deps = Pick<ReconcilerDeps, 'store' | 'rows'>

/** Writes a realm's row if it differs; true when it was written. The caller has decided who owns the name. */
export async function saveRealm({ store, rows }: Deps, row: RealmRow): Promise<boolean> {
  const { realm, resourceUid } = row
  const known = rows.realms.get(resourceUid)
  if (known?.realm === realm && known.digest === realmDigest(row) && rows.realmOwner(realm) === resourceUid)
    return false
  // Users and grants of a removed realm of this name must not become those of this one.
  while (await isBeingRemoved(store.db, realm)) await deleteRemainingRows({ store, rows }, realm)
  const former = rows.realmOwner(realm)
  await rows.realms.write(resourceUid, async () => {
    await store.transaction(async (db) => {
      await upsertRealm(db, row)
      await noteChange(db, { realm, kind: 'realm', key: realm }, store.now())
    })
    if (former !== undefined && former !== resourceUid) rows.realms.deleted(former)
    rows.realms.written(row)
  })
  return true
}

/** Rows that one transaction deletes. */
const DELETED_AT_ONCE = 2_000

/** Deletes a bounded number of the rows that a removed realm left. True when none is left. */
export async function deleteRemainingRows({ store, rows }: Deps, realm: string): Promise<boolean> {
  const isComplete = await store.transaction((db) => deleteRowsOfRealm(db, realm, DELETED_AT_ONCE))
  if (isComplete) rows.forgetRealm(realm)
  return isComplete
}

/**
 * Deletes a realm, and its sessions end. From then on nothing under it is served; of many rows the last ones are deleted
 * later, by `runRemainingDeletions` or by the next Realm of this name. `withKeys` also deletes the record of its keyring.
 */
export async function removeRealm(
  deps: Deps,
  of: { realm: string; resourceUid: string },
  { withKeys = false } = {},
): Promise<void> {
  await deleteRows(deps, of, async (db, realm) => {
    await endSessionsOf(db, { realm }, 'realm_removed', deps.store)
    if (withKeys) await deleteKeyringRecord(db, realm)
  })
}

/** Deletes the rows of a Realm that lost its name. Sessions stay for the new owner. True when there were rows. */
export async function withdrawRealm(deps: Deps, resourceUid: string): Promise<boolean> {
  const { store, rows } = deps
  const known = rows.realms.get(resourceUid)
  if (!known) return false
  const { realm } = known
  await rows.realms.write(resourceUid, async () => {
    const isDeleted = await store.transaction(async (db) => {
      // The Realm that the name was transferred to may have written its row already.
      if (await isRealmOfOther(db, realm, resourceUid)) return false
      await deleteRealm(db, realm, store.now())
      await noteChange(db, { realm, kind: 'realm', key: realm }, store.now())
      return true
    })
    if (isDeleted) rows.forgetRealm(realm)
    else rows.realms.deleted(resourceUid)
  })
  return true
}

async function deleteRows(
  { store, rows }: Deps,
  { realm, resourceUid }: { realm: string; resourceUid: string },
  also: (db: Db, realm: string) => Promise<void>,
): Promise<void> {
  await rows.realms.write(resourceUid, async () => {
    await store.transaction(async (db) => {
      await deleteRealm(db, realm, store.now())
      await also(db, realm)
      await noteChange(db, { realm, kind: 'realm', key: realm }, store.now())
    })
    rows.forgetRealm(realm)
  })
}
