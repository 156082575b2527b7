import { createHash } from 'node:crypto'
import type { SigningAlgorithm } from './jws.ts'
import type { SeenVersion } from './continuity.ts'
import {
  MAX_ENCRYPTION_KEYS,
  MAX_KEY_VERSION,
  MAX_TOKEN_KEYS,
  type EncryptionKey,
  type KeyKind,
  type Keyring,
  type RefreshKey,
  type SigningKey,
  type TokenKey,
} from './keyring.ts'
import { planTokenKeys, type TokenKeyChange } from './token_key_rotation.ts'

/** A live server process and the names of the keys it holds: kids, and fingerprints of encryption keys. */
export interface ReplicaKeys {
  id: string
  fingerprints: readonly string[]
}

export interface RotationSettings {
  signingKeyPeriodDays: number
  encryptionKeyPeriodDays: number
  /** The longest lifetime of any access or ID token: the realm's own and those its clients set. */
  accessTokenLifetimeSeconds: number
  sessionLifetimeSeconds: number
  /** Values of the annotations `realmkeeper.io/rotate-<kind>`; each new value rotates once. */
  rotate?: Partial<Record<KeyKind, string>>
  /** Encryption key versions recorded by now. A version is used only after it was recorded. */
  seen: readonly SeenVersion[]
  /** Field encryption has yet to begin in this realm: no first encryption key is made. */
  encryptionAwaited?: boolean
}

/** A key that has to be made and put into the keyring with `addSigningKey` and its like. */
export type NewKey =
  | { kind: 'signing'; alg: SigningAlgorithm; state: 'pending' | 'active'; onDemand?: string }
  | { kind: 'refresh'; state: 'pending' | 'active'; onDemand?: string }
  | { kind: 'encryption'; version: number; state: 'pending'; onDemand?: string }

/** One step of one key, for logs, Events and audit. `key` is a kid, or the version of an encryption key. */
export interface KeyChange {
  kind: KeyKind
  key: string
  step: TokenKeyChange['step'] | 'primary' | 'decrypt_only'
}

/** What is to be done now. `keyring` is the same object when it has not to be written. */
export interface Plan {
  keyring: Keyring
  changes: KeyChange[]
  newKey?: NewKey
  /** When the plan should be made again without any other cause. */
  recheckAt?: Date
}

/** JWKS max-age: clients do not fetch sooner, so a key that was published less long ago may be unknown to them. */
export const JWKS_MAX_AGE_SECONDS = 300
const REPLICA_POLL_SECONDS = 5
const DAY_SECONDS = 86_400

/** The next step of the signing keys. Changing the realm's algorithm starts a new key as a due period does. */
export function planSigning(
  keyring: Keyring,
  algorithm: SigningAlgorithm,
  now: Date,
  liveReplicas: readonly ReplicaKeys[],
  settings: RotationSettings,
): Plan {
  const planned = planTokenKeys<SigningKey>(keyring.signing, {
    now,
    isWanted: ({ alg }) => alg === algorithm,
    isHeld: ({ kid }) => heldByAll(liveReplicas, kid),
    publishSeconds: JWKS_MAX_AGE_SECONDS,
    pollSeconds: REPLICA_POLL_SECONDS,
    periodSeconds: settings.signingKeyPeriodDays * DAY_SECONDS,
    tokenLifetimeSeconds: settings.accessTokenLifetimeSeconds,
    isDemanded: demanded(keyring, 'signing', settings) !== undefined,
    maxKeys: MAX_TOKEN_KEYS,
  })
  const newKey: NewKey | undefined = planned.newKeyState && {
    kind: 'signing',
    alg: algorithm,
    state: planned.newKeyState,
    ...onDemand(keyring, 'signing', settings),
  }
  return {
    keyring: planned.changed ? { ...keyring, signing: planned.keys } : keyring,
    changes: planned.changes.map((change) => ({ kind: 'signing', ...change })),
    ...(newKey && { newKey }),
    ...(planned.recheckAt && { recheckAt: planned.recheckAt }),
  }
}

/** The next step of the refresh keys: as signing keys, but nobody outside has to learn of them first. */
export function planRefresh(
  keyring: Keyring,
  now: Date,
  liveReplicas: readonly ReplicaKeys[],
  settings: RotationSettings,
): Plan {
  const planned = planTokenKeys<RefreshKey>(keyring.refresh, {
    now,
    isWanted: () => true,
    isHeld: ({ kid }) => heldByAll(liveReplicas, kid),
    publishSeconds: 0,
    pollSeconds: REPLICA_POLL_SECONDS,
    periodSeconds: settings.signingKeyPeriodDays * DAY_SECONDS,
    tokenLifetimeSeconds: settings.sessionLifetimeSeconds,
    isDemanded: demanded(keyring, 'refresh', settings) !== undefined,
    maxKeys: MAX_TOKEN_KEYS,
  })
  const newKey: NewKey | undefined = planned.newKeyState && {
    kind: 'refresh',
    state: planned.newKeyState,
    ...onDemand(keyring, 'refresh', settings),
  }
  return {
    keyring: planned.changed ? { ...keyring, refresh: planned.keys } : keyring,
    changes: planned.changes.map((change) => ({ kind: 'refresh', ...change })),
    ...(newKey && { newKey }),
    ...(planned.recheckAt && { recheckAt: planned.recheckAt }),
  }
}

/**
 * The next step of the encryption keys. A key becomes primary only after its fingerprint was recorded (`settings.seen`),
 * and, but for the first one, when every live replica can decrypt with it: otherwise a replica would call a
 * ciphertext of another replica's unknown.
 */
export function planEncryption(
  keyring: Keyring,
  now: Date,
  liveReplicas: readonly ReplicaKeys[],
  settings: RotationSettings,
): Plan {
  if (settings.encryptionAwaited && keyring.encryption.length === 0 && !settings.seen.some(isEncryption)) {
    return { keyring, changes: [] }
  }
  const primary = keyring.encryption.find(({ state }) => state === 'primary')
  const next = keyring.encryption
    .filter(({ state, version }) => state === 'pending' && version > (primary?.version ?? 0))
    .toSorted((a, b) => a.version - b.version)[0]
  if (next) return planPromotion(keyring, next, primary, now, liveReplicas, settings)

  const dueAt =
    primary && secondsAfter(primary.primaryAt ?? primary.createdAt, settings.encryptionKeyPeriodDays * DAY_SECONDS)
  const isWanted = !dueAt || dueAt <= now || demanded(keyring, 'encryption', settings) !== undefined
  const highest = Math.max(
    0,
    ...keyring.encryption.map(versionOf),
    ...settings.seen.filter(isEncryption).map(versionOf),
  )
  // Tombstones stay for ever, so a full ring stays full: the present key goes on.
  const isRoom = keyring.encryption.length < MAX_ENCRYPTION_KEYS && highest < MAX_KEY_VERSION
  if (!isWanted || !isRoom) return { keyring, changes: [], ...(isRoom && dueAt && { recheckAt: dueAt }) }
  const key = onDemand(keyring, 'encryption', settings)
  return { keyring, changes: [], newKey: { kind: 'encryption', version: highest + 1, state: 'pending', ...key } }
}

function planPromotion(
  keyring: Keyring,
  next: EncryptionKey,
  primary: EncryptionKey | undefined,
  now: Date,
  liveReplicas: readonly ReplicaKeys[],
  settings: RotationSettings,
): Plan {
  const isRecorded = settings.seen.some(
    (seen) => isEncryption(seen) && seen.version === next.version && seen.fingerprint === next.fingerprint,
  )
  const isFirst = keyring.encryption.every((key) => key === next || key.state === 'destroyed')
  if (!isRecorded || (!isFirst && !heldByAll(liveReplicas, next.fingerprint))) {
    return { keyring, changes: [], recheckAt: new Date(now.getTime() + REPLICA_POLL_SECONDS * 1000) }
  }
  const at = now.toISOString()
  const encryption = keyring.encryption.map((key): EncryptionKey => {
    if (key === next) return { ...key, state: 'primary', primaryAt: at }
    return key === primary ? { ...key, state: 'decrypt_only', decryptOnlyAt: at } : key
  })
  const changes: KeyChange[] = [{ kind: 'encryption', key: String(next.version), step: 'primary' }]
  if (primary) changes.push({ kind: 'encryption', key: String(primary.version), step: 'decrypt_only' })
  return { keyring: { ...keyring, encryption }, changes }
}

/** The keyring with the signing key that a plan asked for. The demand it answers is remembered: one value rotates once. */
export function addSigningKey(keyring: Keyring, wanted: NewKey, key: SigningKey): Keyring {
  return { ...answered(keyring, wanted), signing: [...keyring.signing, inState(wanted, key)] }
}

/** As addSigningKey, for a refresh key. */
export function addRefreshKey(keyring: Keyring, wanted: NewKey, key: RefreshKey): Keyring {
  return { ...answered(keyring, wanted), refresh: [...keyring.refresh, inState(wanted, key)] }
}

/** As addSigningKey, for an encryption key, which is pending at first always. */
export function addEncryptionKey(keyring: Keyring, wanted: NewKey, key: EncryptionKey): Keyring {
  return { ...answered(keyring, wanted), encryption: [...keyring.encryption, key] }
}

function answered(keyring: Keyring, { kind, onDemand }: NewKey): Keyring {
  return onDemand ? { ...keyring, rotated: { ...keyring.rotated, [kind]: onDemand } } : keyring
}

function inState<Key extends TokenKey>({ state }: NewKey, key: Key): Key {
  return state === 'active' ? { ...key, state, activatedAt: key.createdAt } : key
}

/**
 * No live replica is no proof that all hold it: after an outage of Postgres every heartbeat is old for a moment, and
 * waiting costs nothing while nobody serves.
 */
function heldByAll(liveReplicas: readonly ReplicaKeys[], name: string): boolean {
  return liveReplicas.length > 0 && liveReplicas.every(({ fingerprints }) => fingerprints.includes(name))
}

/** A digest of the annotation's value while it waits to be carried out. The value itself may be of any length. */
function demanded(keyring: Keyring, kind: KeyKind, settings: RotationSettings): string | undefined {
  const value = settings.rotate?.[kind]
  if (!value) return undefined
  const digest = createHash('sha256').update(value).digest('base64url')
  return digest === keyring.rotated[kind] ? undefined : digest
}

function onDemand(keyring: Keyring, kind: KeyKind, settings: RotationSettings): { onDemand?: string } {
  const digest = demanded(keyring, kind, settings)
  return digest ? { onDemand: digest } : {}
}

function secondsAfter(time: string, seconds: number): Date {
  return new Date(Date.parse(time) + seconds * 1000)
}

function versionOf({ version }: { version: number }): number {
  return version
}

function isEncryption({ kind = 'encryption' }: SeenVersion): boolean {
  return kind === 'encryption'
}
