import type { SigningAlgorithm } from '../../keyring/jws.ts'
import { generateEncryptionKey, generateRefreshKey, generateSigningKey } from '../../keyring/generate.ts'
import { emptyKeyring } from '../../keyring/keyring.ts'
import type { EncryptionState, Keyring } from '../../keyring/keyring.ts'

export interface RealmKeyringOptions {
  realm?: string
  /** The first one signs, the others verify. */
  algorithms?: SigningAlgorithm[]
  /** The states of versions 1, 2, … */
  versions?: EncryptionState[]
}

/** A keyring with fresh keys. ES256, because an RSA key takes a tenth of a second. */
export async function realmKeyring(options: RealmKeyringOptions = {}, now = new Date()): Promise<Keyring> {
  const { realm = 'acme', algorithms = ['ES256'], versions = ['primary'] } = options
  const signing = await Promise.all(algorithms.map((algorithm) => generateSigningKey(algorithm, now)))
  return {
    ...emptyKeyring(realm, { namespace: 'identity', name: realm }),
    signing: signing.map((key, at) => ({ ...key, state: at === 0 ? 'active' : 'passive' })),
    refresh: [{ ...generateRefreshKey(now), state: 'active' }],
    encryption: versions.map((state, at) => {
      const { key, ...rest } = generateEncryptionKey(at + 1, now)
      return { ...rest, state, ...(state !== 'destroyed' && key !== undefined && { key }) }
    }),
  }
}
