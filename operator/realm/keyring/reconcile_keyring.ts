import { advanceKeyring } from '../../../keyring/advance_keyring.ts'
import { checkContinuity, confirmationMessage, withTombstones } from '../../../keyring/continuity.ts'
import { addFieldPairs } from '../../../keyring/field_pairs.ts'
import type { AddedFieldPairs } from '../../../keyring/field_pairs.ts'
import { KEYRING_ENTRY, KEYRING_LABEL, emptyKeyring, serializeKeyring } from '../../../keyring/keyring.ts'
import type { FieldPair, Keyring } from '../../../keyring/keyring.ts'
import type { SeenKeyVersion } from '../../../store/key_versions.ts'
import type { KeyringRecord } from '../../../store/keyring_records.ts'
import { listLiveReplicas } from '../../../store/replicas.ts'
import { pathOf } from '../../view/resource_types.ts'
import { ResourceConflict } from '../../source/resource_source.ts'
import type { SecretName } from '../../source/resource_source.ts'
import type { ReconcilerDeps } from '../../deps.ts'
import { acceptedByOwner, announce, currentRecord, recordStored } from './keyring_record.ts'
import type { KeyringSpec } from './keyring_spec.ts'
import type { ReadKeyring } from './read_keyring.ts'

export interface KeyringResult {
  /** As stored now; undefined when there is none that can be used. */
  keyring: Keyring | undefined
  isExternal: boolean
  /** Why it cannot be used. The operator wrote nothing, and servers keep the last good keyring. */
  problem?: { reason: string; message: string; detail?: string | undefined }
  seen: SeenKeyVersion[]
  fields: Pick<AddedFieldPairs, 'served' | 'refused'>
  recheckAt?: Date
}

type Deps = Pick<ReconcilerDeps, 'store' | 'secrets'>

/**
 * Creates, adopts and rotates the keyring of a realm: tombstones for destroyed keys, new pairs of field and tag, key
 * states. Each step is stored before the next relies on it: the name of a new key is recorded, the key is written, its
 * state is recorded, then it is used. An operator that is killed in between continues from there. A key that was not
 * recorded before it was written is from another writer, and waits for the owner of the realm.
 */
export async function reconcileKeyring(
  at: SecretName,
  read: ReadKeyring,
  wanted: KeyringSpec,
  recorded: KeyringRecord,
  deps: Deps,
): Promise<KeyringResult> {
  const present = read.found === true ? read.keyring : undefined
  const isExternal = read.found === true && read.isExternal
  const record = await currentRecord(present, recorded, wanted, deps)
  const detail = read.found === 'unusable' ? read.detail : undefined
  const refuse = (reason: string, message: string): KeyringResult =>
    refused(record, { reason, message, detail }, isExternal)

  const continuity = checkContinuity(present, { ...record, isExternal: isExternal && record.isExternal })
  if (continuity.outcome === 'KeyringLost' || continuity.outcome === 'KeyringRolledBack') {
    return refuse(continuity.outcome, continuity.message)
  }
  if (read.found === 'unusable') {
    return refuse('KeyringUnusable', unusable(at))
  }
  if (!present) return advance(at, read, wanted, record, deps)

  let accepted: KeyringRecord | undefined = record
  const becameExternal = isExternal && !record.isExternal
  if (continuity.outcome !== 'ok' || becameExternal) {
    accepted = await acceptedByOwner(present, isExternal, wanted, deps)
    const message = continuity.outcome === 'ok' ? confirmationMessage(present, BECAME_EXTERNAL) : continuity.message
    if (!accepted) return refuse('KeyringUnconfirmed', message)
  }
  if (!isExternal) return advance(at, read, wanted, accepted, deps)
  const { versions } = await recordStored(present, accepted, { isExternal, changes: [] }, wanted, deps)
  return { keyring: present, isExternal, seen: versions, fields: fieldsWithoutWrite(present, wanted.fields) }
}

const BECAME_EXTERNAL = 'The keyring is now written by another client, and the operator would rotate its keys no more.'

function unusable(at: SecretName): string {
  return (
    `Secret ${pathOf(at)} cannot be used as a keyring; the log of the operator has the cause. Repair the Secret, or ` +
    'delete it and the operator creates new keys'
  )
}

function refused(
  { versions }: KeyringRecord,
  problem: NonNullable<KeyringResult['problem']>,
  isExternal: boolean,
): KeyringResult {
  return { keyring: undefined, isExternal, seen: versions, fields: { served: [], refused: [] }, problem }
}

async function advance(
  at: SecretName,
  read: ReadKeyring,
  wanted: KeyringSpec,
  recorded: KeyringRecord,
  deps: Deps,
): Promise<KeyringResult> {
  const { store, secrets } = deps
  const now = store.now()
  const present = read.found === true ? read : undefined
  const { labels, annotations } = present?.secret ?? { labels: { [KEYRING_LABEL]: 'true' }, annotations: {} }
  let version = present?.secret.version
  let written = present?.keyring
  let record = recorded

  async function write(keyring: Keyring): Promise<void> {
    const secret = { ...at, labels, annotations, data: { [KEYRING_ENTRY]: serializeKeyring(keyring) } }
    version = version ? await secrets.update(secret, version) : await secrets.create(secret)
    written = keyring
  }

  const added = addFieldPairs(startingPoint(written, record.versions, wanted, now), wanted.fields)
  let keyring = added.keyring
  for (let steps = 0; steps < MAX_STEPS; steps++) {
    // The process that wrote this state may have been killed before it recorded the states.
    if (written) record = await recordStored(written, record, { isExternal: false, changes: [] }, wanted, deps)
    const replicas = await listLiveReplicas(store.db, now)
    const liveReplicas = replicas.map(({ fingerprints }) => fingerprints[wanted.realm] ?? [])
    const step = await advanceKeyring(keyring, { ...wanted.settings, now, liveReplicas, seen: record.versions })
    keyring = step.keyring
    if (keyring === written) {
      const { served, refused: refusedFields } = added
      const recheck = step.recheckAt && { recheckAt: step.recheckAt }
      const fields = { served, refused: refusedFields }
      return { keyring, isExternal: false, seen: record.versions, fields, ...recheck }
    }
    record = await announce(keyring, record, wanted, deps)
    try {
      await write(keyring)
    } catch (error) {
      if (!(error instanceof ResourceConflict) || version) throw error
      const detail = `Secret ${pathOf(at)} exists and cannot be read`
      return refused(record, { reason: 'KeyringUnusable', message: unusable(at), detail }, false)
    }
    const changes = step.changes.map(({ kind, key, step: name }) => `${kind} ${key} ${name}`)
    record = await recordStored(keyring, record, { isExternal: false, changes }, wanted, deps)
  }
  throw new Error(`the keyring of realm "${wanted.realm}" still changes after ${MAX_STEPS} steps`)
}

/** Created, recorded, used: three steps suffice for all kinds together. */
const MAX_STEPS = 10

function startingPoint(present: Keyring | undefined, seen: SeenKeyVersion[], wanted: KeyringSpec, now: Date): Keyring {
  const keyring = withTombstones(present ?? emptyKeyring(wanted.realm, wanted.owner), seen, now)
  return pathOf(keyring.owner) === pathOf(wanted.owner) ? keyring : { ...keyring, owner: wanted.owner }
}

/** The fields that can be served without writing the keyring: those whose pair it already holds. */
function fieldsWithoutWrite(keyring: Keyring, wanted: FieldPair[]): KeyringResult['fields'] {
  const { served, refused } = addFieldPairs(keyring, wanted)
  const held = new Set(keyring.fields.map(({ field }) => field))
  return { served: served.filter(({ field }) => held.has(field)), refused }
}
