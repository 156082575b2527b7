/** The label of keyring Secrets. Nothing but a keyring carries it, and nobody may reference a Secret that does. */
export const KEYRING_LABEL = 'realmkeeper.io/keyring'

/** On a keyring Secret: `namespace/name` of the Realm that it goes over to. */
export const KEYRING_OWNER_ANNOTATION = 'realmkeeper.io/keyring-owner'

/** The one entry of a keyring Secret. */
export const KEYRING_ENTRY = 'keyring.json'

/** Name of the Secret with a realm's keyring. */
export function keyringSecretName(realm: string): string {
  return `realm-${realm}-keyring`
}
