import { parseKeyring } from '../../../keyring/parse_keyring.ts'
import type { Keyring } from '../../../keyring/keyring.ts'
import { KeyringError } from '../../../keyring/members.ts'
import { pathOf } from '../../view/resource_types.ts'
import type { Secret, SecretAccess, SecretName } from '../../source/resource_source.ts'
import { KEYRING_ENTRY, KEYRING_LABEL, keyringSecretName } from '../../../keyring/keyring.ts'

/** The keyring Secret of a realm as stored now. Never log it. */
export type ReadKeyring =
  | { found: false }
  /** `detail` quotes no content and is for the log. */
  | { found: 'unusable'; detail: string }
  | { found: true; secret: Secret; keyring: Keyring; isExternal: boolean }

/** The Secret that holds the keyring of a realm. */
export function keyringAt(namespace: string, realm: string): SecretName {
  return { namespace, name: keyringSecretName(realm) }
}

/** Reads a realm's keyring. `found: false` only when there is none: one that cannot be read is `unusable`. */
export async function readKeyring(secrets: SecretAccess, at: SecretName, realm: string): Promise<ReadKeyring> {
  // A read, because the watch may not have seen a keyring that was just created.
  const secret = await secrets.read(at)
  if (!secret && !secrets.version(at)) return { found: false }
  if (!secret) {
    return { found: 'unusable', detail: `Secret ${pathOf(at)} cannot be read at present` }
  }
  const unusable = (detail: string): ReadKeyring => ({ found: 'unusable', detail })
  if (secret.labels[KEYRING_LABEL] !== 'true') {
    return unusable(`Secret ${pathOf(at)} lacks the label ${KEYRING_LABEL}=true, so it is not used as a keyring`)
  }
  try {
    const keyring = await parseKeyring(secret.data[KEYRING_ENTRY] ?? Buffer.alloc(0), realm)
    // With another writer of its data, each would overwrite the other.
    const isExternal = secret.foreignManagers.length > 0 || secret.controllerUid !== undefined
    return { found: true, secret, keyring, isExternal }
  } catch (error) {
    if (!(error instanceof KeyringError)) throw error
    return unusable(`Secret ${pathOf(at)}: ${error.message}`)
  }
}
