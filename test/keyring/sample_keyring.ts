import { fingerprint } from '../../keyring/derivation.ts'
import { generateRefreshKey, generateSigningKey } from '../../keyring/generate.ts'
import { emptyKeyring, type EncryptionKey, type EncryptionState, type Keyring } from '../../keyring/keyring.ts'

export const START = new Date('2030-01-01T00:00:00Z')

export function secondsLater(seconds: number, from: Date = START): Date {
  return new Date(from.getTime() + seconds * 1000)
}

/** An encryption key of known bytes in any state. */
export function encryptionKey(version: number, state: EncryptionState, fill = version): EncryptionKey {
  const bytes = Buffer.alloc(32, fill)
  const known = { version, fingerprint: fingerprint(bytes), createdAt: START.toISOString() }
  if (state !== 'destroyed') return { ...known, state, key: bytes.toString('base64url') }
  return { ...known, state, destroyedAt: START.toISOString() }
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
