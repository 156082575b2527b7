import { ACCEPT_KEYRING, keyName, keyringDigest, namesOf } from '../../../keyring/continuity.ts'
import type { NamedKey } from '../../../keyring/continuity.ts'
import type { Keyring } from '../../../keyring/keyring.ts'
import { appendAudit } from '../../../store/audit.ts'
import type { AuditEntry } from '../../../store/audit.ts'
import { recordKeyVersions } from '../../../store/key_versions.ts'
import {
  acceptKeyLoss,
  announceKeys,
  findKeyringRecord,
  recordKeyring,
  recordTokenKeys,
} from '../../../store/keyring_records.ts'
import type { KeyringRecord } from '../../../store/keyring_records.ts'
import { pathOf } from '../../view/resource_types.ts'
import type { ReconcilerDeps } from '../../deps.ts'
import type { KeyringSpec } from './keyring_spec.ts'

type Deps = Pick<ReconcilerDeps, 'store'>

/**
 * The record that a keyring is compared with. After a loss of the database it is restored from `Realm.status`; losses
 * that the owner of the realm has accepted since are recorded.
 */
export async function currentRecord(
  present: Keyring | undefined,
  before: KeyringRecord,
  wanted: KeyringSpec,
  { store }: Deps,
): Promise<KeyringRecord> {
  const { realm, owner, acceptedLoss, inStatus } = wanted
  let record = before
  if (!record.owner && inStatus.keys.length + inStatus.versions.length > 0) {
    const { versions } = record
    await store.transaction(async (db) => {
      const now = store.now()
      if (versions.length === 0) await recordKeyVersions(db, realm, inStatus.versions, now)
      await announceKeys(db, realm, inStatus.keys, now)
      await recordTokenKeys(db, realm, inStatus.keys, now)
      await recordKeyring(db, realm, { owner, isExternal: inStatus.isExternal })
    })
    record = await findKeyringRecord(store.db, realm)
  }
  const held = new Set(present && namesOf(present).map(({ name }) => name))
  const recorded = [...record.keys, ...record.versions.map((version) => ({ name: version.fingerprint, ...version }))]
  const lost = recorded.filter(
    ({ name, acceptedLossAt }) => acceptedLoss.includes(name) && !acceptedLossAt && !held.has(name),
  )
  if (lost.length === 0) return record
  const names = [...new Set(lost.map(({ name }) => name))]
  await store.transaction(async (db) => {
    const at = store.now()
    await acceptKeyLoss(db, realm, names, at)
    await appendAudit(db, store.auditWriter, [{ at, action: 'key_loss_accepted', realm, details: { keys: names } }])
  })
  return findKeyringRecord(store.db, realm)
}

/** Records a keyring that others wrote, if the annotation of the Realm names it; undefined otherwise. */
export async function acceptedByOwner(
  keyring: Keyring,
  isExternal: boolean,
  { realm, owner, acceptedKeyring }: KeyringSpec,
  { store }: Deps,
): Promise<KeyringRecord | undefined> {
  const digest = keyringDigest(keyring)
  if (acceptedKeyring !== digest) return undefined
  const details = {
    annotation: `${ACCEPT_KEYRING}: ${digest}`,
    isExternal,
    keys: namesOf(keyring).map(({ name }) => name),
  }
  await store.transaction(async (db) => {
    const at = store.now()
    await announceKeys(db, realm, namesOf(keyring), at)
    await recordKeyring(db, realm, { owner, isExternal })
    await appendAudit(db, store.auditWriter, [{ at, action: 'keyring_accepted', realm, details }])
  })
  return findKeyringRecord(store.db, realm)
}

/** Records the keys of a keyring that the operator is about to write. */
export async function announce(
  keyring: Keyring,
  record: KeyringRecord,
  { realm }: KeyringSpec,
  { store }: Deps,
): Promise<KeyringRecord> {
  const known = new Set(record.keys.map(keyName))
  const news = namesOf(keyring).filter((key) => !known.has(keyName(key)))
  if (news.length === 0) return record
  await store.transaction((db) => announceKeys(db, realm, news, store.now()))
  return findKeyringRecord(store.db, realm)
}

/** Records the keys and states of a keyring as stored, and audits the changes. */
export async function recordStored(
  keyring: Keyring,
  record: KeyringRecord,
  { isExternal, changes }: { isExternal: boolean; changes: string[] },
  { realm, owner }: KeyringSpec,
  { store }: Deps,
): Promise<KeyringRecord> {
  const names = namesOf(keyring)
  const states = new Map(record.versions.map(({ version, state }) => [version, state]))
  const versions = keyring.encryption.filter(({ version, state }) => states.get(version) !== state)
  const isSameKeyring =
    record.owner !== undefined && pathOf(record.owner) === pathOf(owner) && record.isExternal === isExternal
  const hasTokenKeys = tokenKeys(names) === tokenKeys(record.keys.filter(({ state }) => state !== 'removed'))
  if (versions.length === 0 && changes.length === 0 && isSameKeyring && hasTokenKeys) return record
  await store.transaction(async (db) => {
    const at = store.now()
    if (versions.length > 0) await recordKeyVersions(db, realm, versions, at)
    await recordTokenKeys(db, realm, names, at)
    await recordKeyring(db, realm, { owner, isExternal })
    const entry: AuditEntry = { at, action: 'keys_changed', realm, details: { changes } }
    if (changes.length > 0) await appendAudit(db, store.auditWriter, [entry])
  })
  return findKeyringRecord(store.db, realm)
}

function tokenKeys(keys: readonly NamedKey[]): string {
  const texts = keys.filter(({ kind }) => kind !== 'encryption').map((key) => `${keyName(key)} ${key.state}`)
  return texts.toSorted().join('\n')
}
