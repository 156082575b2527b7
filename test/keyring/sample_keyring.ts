import { generateEncryptionKey, generateRefreshKey, generateSigningKey } from '../../keyring/generate.ts'
import { emptyKeyring, type EncryptionKey, type EncryptionState, type Keyring } from '../../keyring/keyring.ts'

export const START = new Date('2030-01-01T00:00:00Z')

export function secondsLater(seconds: number, from: Date = START): Date {
  return new Date(from.getTime() + seconds * 1000)
}

/** An encryption key of known bytes in any state. */
export function encryptionKey(version: number, state: EncryptionState, fill = version): EncryptionKey {
  const made = generateEncryptionKey(version, START, (size) => Buffer.alloc(size, fill))
  if (state !== 'destroyed') return { ...made, state }
  const { key: _, ...tombstone } = made
  return { ...tombstone, state, destroyedAt: START.toISOString() }
}

/** One key of each kind in use, and one field. Ed25519, because it is quick to make. */
export async function sampleKeyring(encryption: EncryptionKey[] = [encryptionKey(1, 'primary')]): Promise<Keyring> {
  const at = START.toISOString()
  return {
    ...emptyKeyring('quickstart', { namespace: 'default', name: 'quickstart' }),
    fields: [{ field: 'dateOfBirth', tag: 'dob', binding: 'Realm' }],
    signing: [{ ...(await generateSigningKey('EdDSA', START)), state: 'active', activatedAt: at }],
    refresh: [{ ...generateRefreshKey(START), state: 'active', activatedAt: at }],
    encryption,
  }
}
