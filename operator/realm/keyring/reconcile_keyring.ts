import { appendAudit } from '../../../store/audit.ts'
import { acceptKeyLoss, listKeyVersions, recordKeyVersions } from '../../../store/key_versions.ts'
import type { SeenKeyVersion } from '../../../store/key_versions.ts'
import { advanceKeyring } from '../../../keyring/advance_keyring.ts'
import type { Advance } from '../../../keyring/advance_keyring.ts'
import { checkContinuity, withTombstones } from '../../../keyring/continuity.ts'
import { addFieldPairs } from '../../../keyring/field_pairs.ts'
import type { AddedFieldPairs } from '../../../keyring/field_pairs.ts'
import { KEYRING_ENTRY, KEYRING_LABEL, emptyKeyring, serializeKeyring } from '../../../keyring/keyring.ts'
import type { FieldPair, Keyring } from '../../../keyring/keyring.ts'
import type { RotationSettings } from '../../../keyring/rotation.ts'
import { listLiveReplicas } from '../../../store/replicas.ts'
import { pathOf } from '../../view/resource_types.ts'
import { ResourceConflict } from '../../source/resource_source.ts'
import type { SecretName } from '../../source/resource_source.ts'
import type { ReconcilerDeps } from '../../deps.ts'
import type { ReadKeyring } from './read_keyring.ts'

/** What a Realm requires of its keyring. */
export interface KeyringSpec {
  realm: string
  owner: { namespace: string; name: string }
  fields: FieldPair[]
  settings: RotationSettings
  /** Fingerprints of lost keys that the annotation `accept-key-loss` accepts. */
  acceptedLoss: string[]
  /** The versions in `Realm.status.keys`: they replace the record of a database that was lost. */
  inStatus: { version: number; fingerprint: string; state: string }[]
}

export interface KeyringResult {
  /** As stored now; undefined when there is none, or none that can be read. */
  keyring: Keyring | undefined
  isExternal: boolean
  /** Why it cannot be used. The operator wrote nothing, and servers keep the last good keyring. */
  problem?: { reason: string; message: string }
  seen: SeenKeyVersion[]
  fields: Pick<AddedFieldPairs, 'served' | 'refused'>
  recheckAt?: Date
}

type Deps = Pick<ReconcilerDeps, 'store' | 'secrets'>

/**
 * Creates, adopts and rotates the keyring of a realm: tombstones for destroyed keys, new pairs of field and tag, key
 * states. Each step is stored before the next relies on it: a new encryption key is written as `pending`, then its
 * fingerprint is recorded, then the key is used. An operator that is killed in between continues from there.
 */
export async function reconcileKeyring(
  at: SecretName,
  read: ReadKeyring,
  wanted: KeyringSpec,
  deps: Deps,
): Promise<KeyringResult> {
  const present = read.found === true ? read.keyring : undefined
  const seen = await knownVersions(present, wanted, deps)
  const isExternal = read.found === true && read.isExternal
  const unwritten = { keyring: present, isExternal, seen, fields: fieldsWithoutWrite(present, wanted.fields) }

  const accepted = seen.flatMap((version) => (version.acceptedLossAt ? [version.fingerprint] : []))
  const continuity = checkContinuity(present, seen, accepted)
  if (continuity.outcome !== 'ok') {
    const message = read.found === 'unusable' ? `${read.message}. ${continuity.message}` : continuity.message
    return { ...unwritten, problem: { reason: continuity.outcome, message } }
  }
  if (read.found === 'unusable') {
    const message = `${read.message}. Repair the Secret, or delete it and the operator creates new keys`
    return { ...unwritten, problem: { reason: 'KeyringUnusable', message } }
  }
  if (isExternal && present) {
    return { ...unwritten, seen: await record(present, seen, [], wanted.realm, deps) }
  }
  return advance(at, read, wanted, seen, deps)
}

async function advance(
  at: SecretName,
  read: ReadKeyring,
  wanted: KeyringSpec,
  seenBefore: SeenKeyVersion[],
  deps: Deps,
): Promise<KeyringResult> {
  const { store, secrets } = deps
  const now = store.now()
  const present = read.found === true ? read : undefined
  const { labels, annotations } = present?.secret ?? { labels: { [KEYRING_LABEL]: 'true' }, annotations: {} }
  let version = present?.secret.version
  let written = present?.keyring
  let seen = seenBefore

  async function write(keyring: Keyring): Promise<void> {
    const secret = { ...at, labels, annotations, data: { [KEYRING_ENTRY]: serializeKeyring(keyring) } }
    version = version ? await secrets.update(secret, version) : await secrets.create(secret)
    written = keyring
  }

  const added = addFieldPairs(startingPoint(written, seen, wanted, now), wanted.fields)
  let keyring = added.keyring
  for (let steps = 0; steps < MAX_STEPS; steps++) {
    // The process that wrote this state may have been killed before it recorded the fingerprints.
    if (written) seen = await record(written, seen, [], wanted.realm, deps)
    const replicas = await listLiveReplicas(store.db, now)
    const liveReplicas = replicas.map(({ fingerprints }) => fingerprints[wanted.realm] ?? [])
    const step = await advanceKeyring(keyring, { ...wanted.settings, now, liveReplicas, seen })
    keyring = step.keyring
    if (keyring === written) {
      const { served, refused } = added
      const recheck = step.recheckAt && { recheckAt: step.recheckAt }
      return { keyring, isExternal: false, seen, fields: { served, refused }, ...recheck }
    }
    try {
      await write(keyring)
    } catch (error) {
      if (!(error instanceof ResourceConflict) || version) throw error
      const message = `Secret ${pathOf(at)} exists and cannot be read: repair it, or delete it and the operator creates new keys`
      const fields = fieldsWithoutWrite(undefined, wanted.fields)
      return { keyring: undefined, isExternal: false, seen, fields, problem: { reason: 'KeyringUnusable', message } }
    }
    seen = await record(keyring, seen, step.changes, wanted.realm, deps)
  }
  throw new Error(`the keyring of realm "${wanted.realm}" still changes after ${MAX_STEPS} steps`)
}

/** Created, recorded, used: three steps suffice for all kinds together. */
const MAX_STEPS = 10

function startingPoint(present: Keyring | undefined, seen: SeenKeyVersion[], wanted: KeyringSpec, now: Date): Keyring {
  const keyring = withTombstones(present ?? emptyKeyring(wanted.realm, wanted.owner), seen, now)
  return pathOf(keyring.owner) === pathOf(wanted.owner) ? keyring : { ...keyring, owner: wanted.owner }
}

/** Every version ever seen. Records newly accepted losses first. */
async function knownVersions(
  present: Keyring | undefined,
  wanted: KeyringSpec,
  { store }: Deps,
): Promise<SeenKeyVersion[]> {
  const { realm, acceptedLoss, inStatus } = wanted
  let seen = await listKeyVersions(store.db, realm)
  if (seen.length === 0 && inStatus.length > 0) {
    await store.transaction((db) => recordKeyVersions(db, realm, inStatus, store.now()))
    seen = await listKeyVersions(store.db, realm)
  }
  const held = new Set(present?.encryption.map(({ fingerprint }) => fingerprint))
  const lost = seen.filter(
    ({ fingerprint, acceptedLossAt }) =>
      acceptedLoss.includes(fingerprint) && !acceptedLossAt && !held.has(fingerprint),
  )
  if (lost.length === 0) return seen
  const fingerprints = lost.map(({ fingerprint }) => fingerprint)
  await store.transaction(async (db) => {
    const at = store.now()
    await acceptKeyLoss(db, realm, fingerprints, at)
    await appendAudit(db, store.auditWriter, [{ at, action: 'key_loss_accepted', realm, details: { fingerprints } }])
  })
  return listKeyVersions(store.db, realm)
}

/** Records new versions and states, and audits the changes. Returns every version ever seen. */
async function record(
  keyring: Keyring,
  seen: SeenKeyVersion[],
  changes: Advance['changes'],
  realm: string,
  { store }: Deps,
): Promise<SeenKeyVersion[]> {
  const known = new Map(seen.map((each) => [each.version, each]))
  const news = keyring.encryption.filter(({ version, state }) => known.get(version)?.state !== state)
  if (news.length === 0 && changes.length === 0) return seen
  await store.transaction(async (db) => {
    const at = store.now()
    if (news.length > 0) await recordKeyVersions(db, realm, news, at)
    if (changes.length === 0) return
    const steps = changes.map(({ kind, key, step }) => `${kind} ${key} ${step}`)
    await appendAudit(db, store.auditWriter, [{ at, action: 'keys_changed', realm, details: { changes: steps } }])
  })
  return listKeyVersions(store.db, realm)
}

/** The fields that can be served without writing the keyring: those whose pair it already holds. */
function fieldsWithoutWrite(keyring: Keyring | undefined, wanted: FieldPair[]): KeyringResult['fields'] {
  if (!keyring) return { served: [], refused: [] }
  const { served, refused } = addFieldPairs(keyring, wanted)
  const held = new Set(keyring.fields.map(({ field }) => field))
  return { served: served.filter(({ field }) => held.has(field)), refused }
}
