import { appendAudit } from '../../../store/audit.ts'
import { findKeyringRecord, recordKeyring } from '../../../store/keyring_records.ts'
import type { KeyringRecord } from '../../../store/keyring_records.ts'
import type { ReconcilerDeps } from '../../deps.ts'
import type { KnownRow } from '../../rows/known_table.ts'
import { relation, TRANSFER_REALM, transferTarget } from '../../view/relations.ts'
import { pathOf, realmName } from '../../view/resource_types.ts'
import type { RealmResource } from '../../view/resource_types.ts'
import type { View } from '../../view/view.ts'
import type { ReadKeyring } from './read_keyring.ts'

/**
 * `namespace/name` of the Realm that owns a realm name: recorded in PostgreSQL (a database of an earlier version has only
 * the row), else in the keyring, else the oldest. Only the owner can transfer the name: a writer of Secrets or of another
 * Realm cannot.
 */
export function ownerOf(
  realm: RealmResource,
  record: KeyringRecord,
  row: KnownRow | undefined,
  read: ReadKeyring,
  view: View,
): string {
  const recorded = recordedOwner(record, row, read)
  if (recorded) return isTransferred(realm, recorded, view) ? pathOf(realm.metadata) : pathOf(recorded)
  const holder = view.holderOf('Realm', relation.realmName(realmName(realm)), undefined)
  return pathOf((holder ?? realm).metadata)
}

/** Records that this Realm took a realm name over, before its rows are written: otherwise both Realms would write them. */
export async function recordTransfer(
  realm: RealmResource,
  record: KeyringRecord,
  row: KnownRow | undefined,
  read: ReadKeyring,
  { store }: Pick<ReconcilerDeps, 'store'>,
): Promise<KeyringRecord> {
  const { isExternal } = record
  const former = recordedOwner(record, row, read)
  const { namespace, name } = realm.metadata
  const owner = { namespace, name }
  if (!former || pathOf(former) === pathOf(owner)) return record
  const named = realmName(realm)
  const details = { from: pathOf(former), to: pathOf(owner) }
  await store.transaction(async (db) => {
    await recordKeyring(db, named, { owner, isExternal })
    const at = store.now()
    await appendAudit(db, store.auditWriter, [{ at, action: 'realm_transferred', realm: named, details }])
  })
  return findKeyringRecord(store.db, named)
}

/** Whether another Realm takes the name of this one over when it is reconciled next. */
export function isLeaving(realm: RealmResource, view: View): boolean {
  const [namespace = '', name = ''] = (transferTarget(realm) ?? '').split('/')
  const to = view.find('Realm', namespace, name)
  return to !== undefined && to.metadata.uid !== realm.metadata.uid && realmName(to) === realmName(realm)
}

function recordedOwner({ owner }: KeyringRecord, row: KnownRow | undefined, read: ReadKeyring): KeyringRecord['owner'] {
  return owner ?? row ?? (read.found === true ? read.keyring.owner : undefined)
}

function isTransferred(to: RealmResource, from: { namespace: string; name: string }, view: View): boolean {
  const owner = view.find('Realm', from.namespace, from.name)
  if (!owner || realmName(owner) !== realmName(to)) return false
  return transferTarget(owner) === pathOf(to.metadata)
}

/** The message of a Realm that claims the name of another. */
export function nameTaken(name: string, owner: string, claimant: RealmResource): string {
  return (
    `the realm name "${name}" and its keyring belong to Realm ${owner}; to transfer them, set the annotation ` +
    `${TRANSFER_REALM}: ${pathOf(claimant.metadata)} on that Realm`
  )
}
