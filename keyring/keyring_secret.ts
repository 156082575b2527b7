/** The label of keyring Secrets. A resource cannot reference a Secret that carries it. */
export const KEYRING_LABEL = 'realmkeeper.io/keyring'

/** On a keyring Secret: `namespace/name` of the Realm that takes the keyring over. */
export const KEYRING_OWNER_ANNOTATION = 'realmkeeper.io/keyring-owner'

/** The only entry of a keyring Secret. */
export const KEYRING_ENTRY = 'keyring.json'

/** Name of the Secret that holds the keyring of a realm. */
export function keyringSecretName(realm: string): string {
  return `realm-${realm}-keyring`
}
