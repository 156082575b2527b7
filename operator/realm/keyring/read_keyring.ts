import { parseKeyring } from '../../../keyring/keyring.ts'
import type { Keyring } from '../../../keyring/keyring.ts'
import { KeyringError } from '../../../keyring/keyring_error.ts'
import { pathOf } from '../../view/resource_types.ts'
import type { Secret, SecretAccess, SecretName } from '../../source/resource_source.ts'
import {
  KEYRING_ENTRY,
  KEYRING_LABEL,
  KEYRING_OWNER_ANNOTATION,
  keyringSecretName,
} from '../../../keyring/keyring_secret.ts'

/** The keyring Secret of a realm as it is now. Hold it briefly, never log it. */
export type ReadKeyring =
  | { found: false }
  /** `message` names no content; `owner` only where an annotation names one. */
  | { found: 'unusable'; message: string; owner: string | undefined }
  | { found: true; secret: Secret; keyring: Keyring; owner: string; isExternal: boolean }

/** Where the keyring of a realm lies. */
export function keyringAt(namespace: string, realm: string): SecretName {
  return { namespace, name: keyringSecretName(realm) }
}

/** Reads a realm's keyring. One that cannot be read is not one that is missing. */
export async function readKeyring(secrets: SecretAccess, at: SecretName, realm: string): Promise<ReadKeyring> {
  // Read now: one that was made a moment ago and has not been seen yet is not lost.
  const secret = await secrets.read(at)
  if (!secret && !secrets.version(at)) return { found: false }
  if (!secret) {
    return { found: 'unusable', owner: undefined, message: `Secret ${pathOf(at)} cannot be read at present` }
  }
  const named = secret.annotations[KEYRING_OWNER_ANNOTATION]
  const unusable = (message: string): ReadKeyring => ({ found: 'unusable', owner: named, message })
  if (secret.labels[KEYRING_LABEL] !== 'true') {
    return unusable(`Secret ${pathOf(at)} lacks the label ${KEYRING_LABEL}=true, so it is not taken for a keyring`)
  }
  try {
    const keyring = parseKeyring(secret.data[KEYRING_ENTRY] ?? Buffer.alloc(0), realm)
    // With somebody else at its data, what is written here would be written over, or the other way round.
    const isExternal = secret.foreignManagers.length > 0 || secret.controllerUid !== undefined
    return { found: true, secret, keyring, owner: named ?? pathOf(keyring.owner), isExternal }
  } catch (error) {
    if (!(error instanceof KeyringError)) throw error
    return unusable(`Secret ${pathOf(at)}: ${error.message}`)
  }
}
