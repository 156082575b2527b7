import type { SigningAlgorithm } from './jws.ts'
import type { PrivateJwk } from './signing_jwk.ts'

/** The content of `keyring.json`: every key of one realm. Hold it briefly, never log it; `loadKeyring` imports its keys. */
export interface Keyring {
  formatVersion: 1
  realm: string
  /** The Realm resource that owns this keyring; another one of the same realm name cannot use it. */
  owner: { namespace: string; name: string }
  /** A field and its tag stay together permanently, removed fields included. */
  fields: FieldPair[]
  signing: SigningKey[]
  refresh: RefreshKey[]
  encryption: EncryptionKey[]
  /** The last rotation on demand of each kind: a digest of the annotation's value. */
  rotated: Partial<Record<KeyKind, string>>
}

export type KeyKind = 'signing' | 'refresh' | 'encryption'
export type FieldBinding = 'Realm' | 'Subject'

export interface FieldPair {
  field: string
  tag: string
  binding: FieldBinding
}

/** The members that signing and refresh keys share. Times are RFC 3339 texts. */
export interface TokenKey {
  kid: string
  state: 'pending' | 'active' | 'passive'
  createdAt: string
  /** When every live replica was first seen to hold it. */
  publishedAt?: string
  activatedAt?: string
  passiveAt?: string
  /** The longest lifetime in seconds of any token it may have signed. */
  tokenLifetimeSeconds?: number
}

/** `kid` is the RFC 7638 thumbprint of `jwk`, which is private. */
export interface SigningKey extends TokenKey {
  alg: SigningAlgorithm
  jwk: PrivateJwk
}

/**
 * `kid` is the fingerprint of `key`, which is 32 random bytes in base64url. RFC 7518 section 3.2 asks for 64 with HS512;
 * 256 bits of entropy are enough for tokens that only this installation reads.
 */
export interface RefreshKey extends TokenKey {
  key: string
}

/** `key` is 32 bytes in base64url; a destroyed key has none, and its entry stays permanently. */
export interface EncryptionKey {
  version: number
  fingerprint: string
  state: EncryptionState
  key?: string
  createdAt: string
  primaryAt?: string
  decryptOnlyAt?: string
  disabledAt?: string
  destroyedAt?: string
}

export const TOKEN_KEY_STATES = ['pending', 'active', 'passive'] as const
export const ENCRYPTION_STATES = ['pending', 'primary', 'decrypt_only', 'disabled', 'destroyed'] as const
export type EncryptionState = (typeof ENCRYPTION_STATES)[number]

/** Bounds of a keyring. A Kubernetes Secret holds 1 MiB at most. */
export const MAX_KEYRING_BYTES = 1024 * 1024
export const MAX_TOKEN_KEYS = 32
export const MAX_ENCRYPTION_KEYS = 1024
export const MAX_FIELD_PAIRS = 1024
export const MAX_KEY_VERSION = 2 ** 31 - 1

/** A keyring without keys. */
export function emptyKeyring(realm: string, owner: { namespace: string; name: string }): Keyring {
  return { formatVersion: 1, realm, owner, fields: [], signing: [], refresh: [], encryption: [], rotated: {} }
}

/** The bytes of `keyring.json`. Equal keyrings give equal bytes if their members are in the same order. */
export function serializeKeyring(keyring: Keyring): Buffer {
  return Buffer.from(`${JSON.stringify(keyring, undefined, 1)}\n`, 'utf8')
}

/** The label of keyring Secrets. A resource cannot reference a Secret that carries it. */
export const KEYRING_LABEL = 'realmkeeper.io/keyring'

/** The only entry of a keyring Secret. */
export const KEYRING_ENTRY = 'keyring.json'

/** Name of the Secret that holds the keyring of a realm. */
export function keyringSecretName(realm: string): string {
  return `realm-${realm}-keyring`
}
