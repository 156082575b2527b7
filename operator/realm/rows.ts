import { noteChange } from '../../store/changes.ts'
import { deleteKeyVersions } from '../../store/key_versions.ts'
import type { Db } from '../../store/db.ts'
import { deleteRealm, upsertRealm } from '../../store/realms.ts'
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

/** Deletes a realm with all its rows, and its sessions end. `withKeys` also deletes the record of its key versions. */
export async function removeRealm(
  deps: Deps,
  of: { realm: string; resourceUid: string },
  { withKeys = false } = {},
): Promise<void> {
  await deleteRows(deps, of, async (db, realm) => {
    await endSessionsOf(db, { realm }, 'realm_removed', deps.store)
    if (withKeys) await deleteKeyVersions(db, realm)
  })
}

/** Deletes the rows of a Realm that lost its name. Sessions stay for the new owner. True when there were rows. */
export async function withdrawRealm(deps: Deps, resourceUid: string): Promise<boolean> {
  const known = deps.rows.realms.get(resourceUid)
  if (known) await deleteRows(deps, known, async () => {})
  return known !== undefined
}

async function deleteRows(
  { store, rows }: Deps,
  { realm, resourceUid }: { realm: string; resourceUid: string },
  also: (db: Db, realm: string) => Promise<void>,
): Promise<void> {
  await rows.realms.write(resourceUid, async () => {
    await store.transaction(async (db) => {
      await deleteRealm(db, realm)
      await also(db, realm)
      await noteChange(db, { realm, kind: 'realm', key: realm }, store.now())
    })
    rows.forgetRealm(realm)
  })
}
