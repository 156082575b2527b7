import { createHash } from 'node:crypto'
import type { EncryptionKey, KeyKind, Keyring } from './keyring.ts'

/** An encryption key version that was recorded once, as Postgres and `Realm.status.keys` hold it. */
export interface SeenVersion {
  version: number
  fingerprint: string
  state: string
  /** When the owner of the realm accepted that the key is lost. */
  acceptedLossAt?: Date | null
}

/** A key by its public name: the kid of a signing or refresh key, the fingerprint of an encryption key. */
export interface NamedKey {
  kind: KeyKind
  name: string
  state: string
}

/** What is recorded of the keyring of a realm. */
export interface KeyRecord {
  versions: readonly SeenVersion[]
  /** Every key that the operator generated or the owner of the realm accepted. */
  keys: readonly (NamedKey & { acceptedLossAt?: Date | null })[]
  /** The owner of the realm accepted another writer of the keyring: it may add keys. */
  isExternal: boolean
}

/** Whether a keyring may replace the former one; the message is for the condition `KeysReady`. */
export type Continuity =
  | { outcome: 'ok' }
  | { outcome: 'KeyringLost' | 'KeyringRolledBack' | 'KeyringUnconfirmed'; message: string }

/** Every key of a keyring by its name. */
export function namesOf({ signing, refresh, encryption }: Keyring): NamedKey[] {
  return [
    ...signing.map(({ kid, state }): NamedKey => ({ kind: 'signing', name: kid, state })),
    ...refresh.map(({ kid, state }): NamedKey => ({ kind: 'refresh', name: kid, state })),
    ...encryption.map(({ fingerprint, state }): NamedKey => ({ kind: 'encryption', name: fingerprint, state })),
  ]
}

/** `kind name`: identifies a key of a realm. */
export function keyName({ kind, name }: Pick<NamedKey, 'kind' | 'name'>): string {
  return `${kind} ${name}`
}

/** Identifies the set of keys of a keyring, in 32 hexadecimal digits; the value that accepts a keyring. */
export function keyringDigest(keyring: Keyring): string {
  const names = namesOf(keyring).map(keyName)
  return createHash('sha256').update(names.toSorted().join('\n')).digest('hex').slice(0, 32)
}

/**
 * Compares a keyring (undefined: there is none) with what is recorded. Refused are a keyring that lacks
 * - an encryption key version, or has other bytes for it: stored values would become unreadable without a decision;
 * - the active signing or refresh key: an older state or another keyring, with keys that someone else may know;
 * and one with a key that is not recorded, unless another writer may add keys. Recorded losses that the owner of the
 * realm accepted do not count. A version recorded as destroyed has no bytes to lose; see `withTombstones`.
 */
export function checkContinuity(keyring: Keyring | undefined, record: KeyRecord): Continuity {
  const present = new Map((keyring?.encryption ?? []).map((key) => [key.version, key]))
  const expected = record.versions.filter(({ acceptedLossAt }) => !acceptedLossAt)
  const lostVersions = expected.filter((version) => isLost(version, present.get(version.version)))
  const names = new Set(keyring && namesOf(keyring).map(keyName))
  const lostKeys = record.keys.filter((key) => mustStay(key) && !names.has(keyName(key)))
  if (lostVersions.length > 0 || lostKeys.length > 0) {
    // Without any recorded version, it is not an older state of the keyring but another one, or none.
    const isOlderState = lostVersions.length > 0 ? expected.some(({ version }) => present.has(version)) : keyring
    const message = explainLoss(keyring, lostVersions, lostKeys, present)
    return { outcome: isOlderState ? 'KeyringRolledBack' : 'KeyringLost', message }
  }
  if (!keyring || record.isExternal) return { outcome: 'ok' }
  const unrecorded = unrecordedKeys(keyring, record)
  if (unrecorded.length === 0) return { outcome: 'ok' }
  return { outcome: 'KeyringUnconfirmed', message: explainUnrecorded(keyring, unrecorded) }
}

/** The message of a keyring that waits until the owner of the realm accepts it. `cause` is a sentence. */
export function confirmationMessage(keyring: Keyring, cause: string): string {
  return (
    `${cause} The keys in use stay in use. Restore the Secret, or accept this keyring with the annotation ` +
    `${ACCEPT_KEYRING}: ${keyringDigest(keyring)} on the Realm.`
  )
}

/** On a Realm: names of lost keys, separated by commas, and the digest of a keyring that others wrote. */
export const ACCEPT_KEY_LOSS = 'realmkeeper.io/accept-key-loss'
export const ACCEPT_KEYRING = 'realmkeeper.io/accept-keyring'

/**
 * The keyring with every recorded destruction applied: a restored backup must not bring a destroyed key back, and a
 * missing tombstone is added again. Returns the same object when nothing changes.
 */
export function withTombstones(keyring: Keyring, seen: readonly SeenVersion[], now: Date): Keyring {
  const destroyed = new Map(seen.filter(({ state }) => state === 'destroyed').map((each) => [each.version, each]))
  const present = new Set(keyring.encryption.map(({ version }) => version))
  const revived = keyring.encryption.some(({ version, state }) => state !== 'destroyed' && destroyed.has(version))
  const absent = [...destroyed.values()].filter(({ version }) => !present.has(version))
  if (!revived && absent.length === 0) return keyring

  const kept = keyring.encryption.map((key) => {
    const destruction = destroyed.get(key.version)
    return destruction && key.state !== 'destroyed' ? tombstone(key, destruction, now) : key
  })
  const added = absent.map((each) => tombstone({ version: each.version, createdAt: now.toISOString() }, each, now))
  return { ...keyring, encryption: [...kept, ...added].toSorted((a, b) => a.version - b.version) }
}

/** Signing and refresh keys expire, so only the active one must stay; rotation keeps it as passive first. */
function mustStay({ kind, state, acceptedLossAt }: KeyRecord['keys'][number]): boolean {
  return kind !== 'encryption' && state === 'active' && !acceptedLossAt
}

function isLost(seen: SeenVersion, present: EncryptionKey | undefined): boolean {
  if (!present) return seen.state !== 'destroyed'
  return present.fingerprint !== seen.fingerprint
}

function unrecordedKeys(keyring: Keyring, { keys, versions }: KeyRecord): NamedKey[] {
  const recorded = new Set(keys.map(keyName))
  const fingerprints = new Set(versions.map(({ fingerprint }) => fingerprint))
  return namesOf(keyring).filter(
    (key) => !recorded.has(keyName(key)) && !(key.kind === 'encryption' && fingerprints.has(key.name)),
  )
}

function tombstone(
  { version, createdAt }: Pick<EncryptionKey, 'version' | 'createdAt'>,
  { fingerprint }: SeenVersion,
  now: Date,
): EncryptionKey {
  return { version, fingerprint, state: 'destroyed', createdAt, destroyedAt: now.toISOString() }
}

const MOST_NAMED = 5

function explainLoss(
  keyring: Keyring | undefined,
  versions: readonly SeenVersion[],
  keys: readonly NamedKey[],
  present: ReadonlyMap<number, EncryptionKey>,
): string {
  const missing = [
    ...keys.map(({ kind, name }) => ({ name, text: `${kind} key ${name} is missing` })),
    ...versions.map(({ version, fingerprint }) => {
      const other = present.get(version)
      const what = other ? `has other bytes (${other.fingerprint})` : 'is missing'
      return { name: fingerprint, text: `encryption key version ${version} (${fingerprint}) ${what}` }
    }),
  ]
  const names = missing.length <= MOST_NAMED ? missing.map(({ name }) => name).join(',') : '<names>'
  const unreadable = versions.length > 0 ? ' and that values encrypted with these keys stay unreadable' : ''
  return (
    `${keyring ? 'The keyring is not the one seen before' : 'There is no keyring'}: ` +
    `${listed(missing.map(({ text }) => text))}. Restore the Secret, or accept the loss${unreadable} ` +
    `with the annotation ${ACCEPT_KEY_LOSS}: ${names} on the Realm.`
  )
}

function explainUnrecorded(keyring: Keyring, keys: readonly NamedKey[]): string {
  const named = listed(keys.map(({ kind, name }) => `${kind} key ${name}`))
  return confirmationMessage(keyring, `The keyring holds keys that the operator did not generate: ${named}.`)
}

function listed(texts: readonly string[]): string {
  const rest = texts.length > MOST_NAMED ? `, and ${texts.length - MOST_NAMED} more` : ''
  return `${texts.slice(0, MOST_NAMED).join(', ')}${rest}`
}
