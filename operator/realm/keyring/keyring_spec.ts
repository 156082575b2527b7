import { ACCEPT_KEY_LOSS, ACCEPT_KEYRING } from '../../../keyring/continuity.ts'
import type { NamedKey } from '../../../keyring/continuity.ts'
import type { FieldPair } from '../../../keyring/keyring.ts'
import type { RotationSettings } from '../../../keyring/rotation.ts'
import type { EncryptionField } from '../../../store/realms.ts'
import { conditionOf } from '../../controller/condition.ts'
import { relation } from '../../view/relations.ts'
import { pathOf, realmName } from '../../view/resource_types.ts'
import type { RealmResource } from '../../view/resource_types.ts'
import type { View } from '../../view/view.ts'
import { pairOf } from '../fields.ts'

/** What a Realm requires of its keyring. */
export interface KeyringSpec {
  realm: string
  owner: { namespace: string; name: string }
  fields: FieldPair[]
  settings: RotationSettings
  /** Names of lost keys that the annotation `accept-key-loss` accepts. */
  acceptedLoss: string[]
  /** The keyring that the annotation `accept-keyring` accepts. */
  acceptedKeyring: string | undefined
  /** The keys in `Realm.status`: they replace the record of a database that was lost. */
  inStatus: {
    keys: NamedKey[]
    versions: { version: number; fingerprint: string; state: string }[]
    isExternal: boolean
  }
}

/** The reason of `KeysReady` where the operator writes no key. */
export const EXTERNALLY_MANAGED = 'ExternallyManaged'

/** The spec of a Realm's keyring, with what its annotations accept and its status records. */
export function keyringSpec(
  realm: RealmResource,
  fields: EncryptionField[],
  needsEncryptionKey: boolean,
  view: View,
): KeyringSpec {
  const { namespace, name, annotations = {} } = realm.metadata
  const { tokens, keyRotation } = realm.spec
  const rotate = (kind: string) => annotations[`realmkeeper.io/rotate-${kind}`] ?? ''
  const clients = view.knownAs('Client', relation.realmDetails(pathOf(realm.metadata)))
  const lifetimes = clients.map(({ spec }) => spec.accessTokenLifetimeSeconds ?? 0)
  return {
    realm: realmName(realm),
    owner: { namespace, name },
    fields: fields.map(pairOf),
    settings: {
      algorithm: tokens.signingAlgorithm,
      ...keyRotation,
      accessTokenLifetimeSeconds: Math.max(tokens.accessTokenLifetimeSeconds, ...lifetimes),
      sessionLifetimeSeconds: tokens.sessionLifetimeSeconds,
      rotate: { signing: rotate('signing'), refresh: rotate('refresh'), encryption: rotate('encryption') },
      encryptionAwaited: !needsEncryptionKey,
    },
    acceptedLoss: (annotations[ACCEPT_KEY_LOSS] ?? '').split(',').map((text) => text.trim()),
    acceptedKeyring: annotations[ACCEPT_KEYRING]?.trim(),
    inStatus: keysInStatus(realm),
  }
}

function keysInStatus(realm: RealmResource): KeyringSpec['inStatus'] {
  const { signing = [], refresh = [], encryption = [] } = realm.status?.keys ?? {}
  return {
    keys: [
      ...signing.map(({ kid, state }): NamedKey => ({ kind: 'signing', name: kid, state })),
      ...refresh.map(({ kid, state }): NamedKey => ({ kind: 'refresh', name: kid, state })),
    ],
    versions: encryption,
    isExternal: conditionOf(realm, 'KeysReady')?.reason === EXTERNALLY_MANAGED,
  }
}
