import type { SecretAccess, SecretName } from '../../source/resource_source.ts'
import { KEYRING_LABEL } from '../../../keyring/keyring_secret.ts'
import type { KeyringRole } from './keyring_role.ts'

/**
 * Secrets, where servers may read every keyring that the operator makes or works with, before the row says that there
 * is one.
 */
export function withReadableKeyrings(secrets: SecretAccess, role: KeyringRole, keyringNamespace: string): SecretAccess {
  function isKeyring({ namespace }: SecretName, labels: Record<string, string>): boolean {
    return namespace === keyringNamespace && labels[KEYRING_LABEL] === 'true'
  }
  return {
    ...secrets,
    async read(name) {
      const secret = await secrets.read(name)
      if (secret && isKeyring(name, secret.labels)) await role.allow(name.name)
      return secret
    },
    async create(desired) {
      if (isKeyring(desired, desired.labels)) await role.allow(desired.name)
      return secrets.create(desired)
    },
  }
}
