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
import { planTokenKeys, type TokenKeyChange, type TokenKeyPlan } from './token_key_rotation.ts'

/** What a realm requires of the rotation of its keys. */
export interface RotationSettings {
  /** Of the signing keys. */
  algorithm: SigningAlgorithm
  signingKeyPeriodDays: number
  encryptionKeyPeriodDays: number
  /** The longest lifetime of any access or ID token: the realm's own and those its clients set. */
  accessTokenLifetimeSeconds: number
  sessionLifetimeSeconds: number
  /** Values of the annotations `realmkeeper.io/rotate-<kind>`; each new value rotates once. */
  rotate?: Partial<Record<KeyKind, string>>
  /** Field encryption has not begun in this realm: no first encryption key is created. */
  encryptionAwaited?: boolean
}

export interface RotationInput extends RotationSettings {
  now: Date
  /** The names of the keys that each live server process holds: kids, and fingerprints of encryption keys. */
  liveReplicas: readonly (readonly string[])[]
  /** The encryption key versions recorded so far. A version is used only after it was recorded. */
  seen: readonly SeenVersion[]
}

/** A key to create and to add to the keyring. */
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

/** The next step. `keyring` is the same object when nothing has to be written. */
export interface Plan {
  keyring: Keyring
  changes: KeyChange[]
  newKey?: NewKey
  /** When to plan again if nothing else happens. */
  recheckAt?: Date
}

/** `max-age` of the JWK Set: clients fetch no sooner, so they may not know a key that was published more recently. */
const JWKS_MAX_AGE_SECONDS = 300
const REPLICA_POLL_SECONDS = 5
const DAY_SECONDS = 86_400

/** The next step of the signing keys. A change of the realm's algorithm starts a new key, as the end of a period does. */
export function planSigning(keyring: Keyring, input: RotationInput): Plan {
  const { algorithm } = input
  const planned = planTokenKeys<SigningKey>(keyring.signing, {
    ...tokenKeyRules(keyring, 'signing', input),
    isWanted: ({ alg }) => alg === algorithm,
    publishSeconds: JWKS_MAX_AGE_SECONDS,
    tokenLifetimeSeconds: input.accessTokenLifetimeSeconds,
  })
  const { newKeyState: state } = planned
  return {
    ...steps(planned, 'signing'),
    keyring: planned.changed ? { ...keyring, signing: planned.keys } : keyring,
    ...(state && { newKey: { kind: 'signing', alg: algorithm, state, ...onDemand(keyring, 'signing', input) } }),
  }
}

/** The next step of the refresh keys: as signing keys, but not published first, because only this server reads them. */
export function planRefresh(keyring: Keyring, input: RotationInput): Plan {
  const planned = planTokenKeys<RefreshKey>(keyring.refresh, {
    ...tokenKeyRules(keyring, 'refresh', input),
    isWanted: () => true,
    publishSeconds: 0,
    tokenLifetimeSeconds: input.sessionLifetimeSeconds,
  })
  const { newKeyState: state } = planned
  return {
    ...steps(planned, 'refresh'),
    keyring: planned.changed ? { ...keyring, refresh: planned.keys } : keyring,
    ...(state && { newKey: { kind: 'refresh', state, ...onDemand(keyring, 'refresh', input) } }),
  }
}

/** The rules that signing and refresh keys share. */
function tokenKeyRules(keyring: Keyring, kind: 'signing' | 'refresh', input: RotationInput) {
  return {
    now: input.now,
    isHeld: ({ kid }: TokenKey) => heldByAll(input.liveReplicas, kid),
    pollSeconds: REPLICA_POLL_SECONDS,
    periodSeconds: input.signingKeyPeriodDays * DAY_SECONDS,
    isDemanded: newDemand(keyring, kind, input) !== undefined,
    maxKeys: MAX_TOKEN_KEYS,
  }
}

function steps({ changes, recheckAt }: Pick<TokenKeyPlan<TokenKey>, 'changes' | 'recheckAt'>, kind: KeyKind) {
  return { changes: changes.map((change) => ({ kind, ...change })), ...(recheckAt && { recheckAt }) }
}

/**
 * The next step of the encryption keys. A key becomes primary only after its fingerprint was recorded (`seen`)
 * and, except for the first one, when every live replica holds it: otherwise one replica could not decrypt what another
 * encrypts.
 */
export function planEncryption(keyring: Keyring, input: RotationInput): Plan {
  const { now, seen } = input
  if (input.encryptionAwaited && keyring.encryption.length === 0 && seen.length === 0) return { keyring, changes: [] }
  const primary = keyring.encryption.find(({ state }) => state === 'primary')
  const next = keyring.encryption
    .filter(({ state, version }) => state === 'pending' && version > (primary?.version ?? 0))
    .toSorted((a, b) => a.version - b.version)[0]
  if (next) return planPromotion(keyring, next, primary, input)

  const dueAt =
    primary && secondsAfter(primary.primaryAt ?? primary.createdAt, input.encryptionKeyPeriodDays * DAY_SECONDS)
  const isWanted = !dueAt || dueAt <= now || newDemand(keyring, 'encryption', input) !== undefined
  const highest = Math.max(0, ...[...keyring.encryption, ...seen].map(({ version }) => version))
  // Entries of destroyed keys stay permanently, so a full keyring stays full and its primary key stays in use.
  const isRoom = keyring.encryption.length < MAX_ENCRYPTION_KEYS && highest < MAX_KEY_VERSION
  if (!isWanted || !isRoom) return { keyring, changes: [], ...(isRoom && dueAt && { recheckAt: dueAt }) }
  const key = onDemand(keyring, 'encryption', input)
  return { keyring, changes: [], newKey: { kind: 'encryption', version: highest + 1, state: 'pending', ...key } }
}

function planPromotion(
  keyring: Keyring,
  next: EncryptionKey,
  primary: EncryptionKey | undefined,
  { now, liveReplicas, seen }: RotationInput,
): Plan {
  const isRecorded = seen.some(
    ({ version, fingerprint }) => version === next.version && fingerprint === next.fingerprint,
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

/**
 * False without live replicas: after an outage of Postgres every heartbeat is too old for a moment, and waiting costs
 * nothing while no replica serves.
 */
function heldByAll(liveReplicas: RotationInput['liveReplicas'], name: string): boolean {
  return liveReplicas.length > 0 && liveReplicas.every((names) => names.includes(name))
}

/** The digest of an annotation's value that was not carried out yet; the value itself may be of any length. */
function newDemand(keyring: Keyring, kind: KeyKind, settings: RotationSettings): string | undefined {
  const value = settings.rotate?.[kind]
  if (!value) return undefined
  const digest = createHash('sha256').update(value).digest('base64url')
  return digest === keyring.rotated[kind] ? undefined : digest
}

function onDemand(keyring: Keyring, kind: KeyKind, settings: RotationSettings): { onDemand?: string } {
  const digest = newDemand(keyring, kind, settings)
  return digest ? { onDemand: digest } : {}
}

function secondsAfter(time: string, seconds: number): Date {
  return new Date(Date.parse(time) + seconds * 1000)
}
