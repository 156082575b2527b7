import type { EncryptionKey, KeyKind, Keyring } from './keyring.ts'

/** An encryption key version that was recorded once, as Postgres and `Realm.status.keys` hold it. */
export interface SeenVersion {
  /** Encryption when absent. Other kinds are ignored: their keys expire. */
  kind?: KeyKind
  version: number
  fingerprint: string
  state: string
}

/** Whether a keyring may replace the former one; the message is for the condition `KeysReady`. */
export type Continuity =
  | { outcome: 'ok' }
  | { outcome: 'KeyringLost' | 'KeyringRolledBack'; message: string; missing: SeenVersion[] }

/**
 * Compares a keyring (undefined: there is none) with every recorded version. A version that is missing or has other
 * bytes means a restored backup, a wrong Secret or an accident, and stored values would become unreadable without a
 * decision. `acceptedLoss` lists fingerprints whose loss the owner of the realm has accepted. Versions that were never
 * recorded are accepted. A version recorded as destroyed has no bytes to lose; see `withTombstones`.
 */
export function checkContinuity(
  keyring: Keyring | undefined,
  seen: readonly SeenVersion[],
  acceptedLoss: readonly string[],
): Continuity {
  const expected = seen.filter(isEncryption).filter((version) => !acceptedLoss.includes(version.fingerprint))
  const present = new Map((keyring?.encryption ?? []).map((key) => [key.version, key]))
  const missing = expected.filter((version) => isLost(version, present.get(version.version)))
  if (missing.length === 0) return { outcome: 'ok' }

  // Without any recorded version, it is not an older state of the keyring but another one, or none.
  const isOlderState = expected.some(({ version }) => present.has(version))
  const outcome = isOlderState ? 'KeyringRolledBack' : 'KeyringLost'
  return { outcome, message: explain(keyring, missing, present), missing }
}

/**
 * The keyring with every recorded destruction applied: a restored backup must not bring a destroyed key back, and a
 * missing tombstone is added again. Returns the same object when nothing changes.
 */
export function withTombstones(keyring: Keyring, seen: readonly SeenVersion[], now: Date): Keyring {
  const recorded = seen.filter((each) => isEncryption(each) && each.state === 'destroyed')
  const destroyed = new Map(recorded.map((each) => [each.version, each]))
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

/** Only encryption keys must stay: the others expire. */
export function isEncryption({ kind = 'encryption' }: SeenVersion): boolean {
  return kind === 'encryption'
}

function isLost(seen: SeenVersion, present: EncryptionKey | undefined): boolean {
  if (!present) return seen.state !== 'destroyed'
  return present.fingerprint !== seen.fingerprint
}

function tombstone(
  { version, createdAt }: Pick<EncryptionKey, 'version' | 'createdAt'>,
  { fingerprint }: SeenVersion,
  now: Date,
): EncryptionKey {
  return { version, fingerprint, state: 'destroyed', createdAt, destroyedAt: now.toISOString() }
}

const MOST_NAMED = 5

function explain(
  keyring: Keyring | undefined,
  missing: readonly SeenVersion[],
  present: ReadonlyMap<number, EncryptionKey>,
): string {
  const named = missing.slice(0, MOST_NAMED).map(({ version, fingerprint }) => {
    const other = present.get(version)
    return `version ${version} (${fingerprint})${other ? ` has other bytes (${other.fingerprint})` : ' is missing'}`
  })
  const rest = missing.length > MOST_NAMED ? `, and ${missing.length - MOST_NAMED} more` : ''
  const fingerprints =
    missing.length <= MOST_NAMED ? missing.map((each) => each.fingerprint).join(',') : '<fingerprints>'
  return (
    `${keyring ? 'The keyring is not the one seen before' : 'There is no keyring'}: encryption key ` +
    `${named.join(', ')}${rest}. Restore the Secret, or accept that values encrypted with these keys stay unreadable ` +
    `with the annotation realmkeeper.io/accept-key-loss: ${fingerprints} on the Realm.`
  )
}
