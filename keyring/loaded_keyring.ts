import { createSecretKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import type { SigningAlgorithm } from './algorithms.ts'
import { deriveFieldKey } from './derivation.ts'
import type { EncryptionState, FieldPair, Keyring, SigningKey } from './keyring.ts'
import { importPrivateJwk, publicMembers } from './private_jwk.ts'

/** A keyring as a process works with it: KeyObjects, and no text or buffer of any key. */
export interface LoadedKeyring {
  readonly realm: string
  readonly fields: readonly FieldPair[]
  /** The active signing key. Undefined: nothing can be signed (`keyring_unavailable`). */
  readonly signer: { kid: string; alg: SigningAlgorithm; privateKey: KeyObject } | undefined
  /** Public keys of every signing key held, by kid; the algorithm is the key's, whatever a token says. */
  readonly verifiers: ReadonlyMap<string, { alg: SigningAlgorithm; publicKey: KeyObject }>
  /** What JWKS serves: public members, `kid`, `alg` and `use`; the active key first. */
  readonly publicJwks: readonly JsonWebKey[]
  /** Every refresh key held, by kid. */
  readonly refreshKeys: ReadonlyMap<string, KeyObject>
  /** The refresh key that signs. */
  readonly refreshSigner: { kid: string; key: KeyObject } | undefined
  /** The version new ciphertexts are made with. Undefined: nothing can be encrypted. */
  readonly primaryVersion: number | undefined
  /** Undefined for a version that was never in the ring. */
  encryptionState(version: number): EncryptionState | undefined
  /** K_field, derived once; undefined when the version has no usable key (absent, disabled, destroyed). */
  fieldKey(field: string, tag: string, version: number): KeyObject | undefined
  /** What a replica reports: kids of signing and refresh keys, fingerprints of usable encryption keys. */
  readonly fingerprints: readonly string[]
}

/** Derived keys remembered at most. A realm has up to 64 fields and a few versions in use. */
const MAX_FIELD_KEYS = 4096

/**
 * Makes KeyObjects of a parsed keyring. Bytes of disabled keys are not loaded.
 * @throws KeyringError when a JWK cannot be imported, which parseKeyring would have said
 */
export function loadKeyring(keyring: Keyring): LoadedKeyring {
  const signingKeys = activeFirst(keyring.signing).map((key) => ({
    ...importPrivateJwk(key.jwk, key.alg, 'signing'),
    kid: key.kid,
    alg: key.alg,
    state: key.state,
  }))
  const active = signingKeys.find(({ state }) => state === 'active')
  const refreshKeys = new Map(keyring.refresh.map(({ kid, key }) => [kid, secretKey(key)]))
  const activeRefreshKid = keyring.refresh.find(({ state }) => state === 'active')?.kid
  const activeRefreshKey = activeRefreshKid === undefined ? undefined : refreshKeys.get(activeRefreshKid)

  const states = new Map(keyring.encryption.map(({ version, state }) => [version, state]))
  const usable = keyring.encryption.filter(({ state }) => state !== 'disabled' && state !== 'destroyed')
  const versionKeys = new Map(usable.flatMap(({ version, key }) => (key ? [[version, secretKey(key)] as const] : [])))

  return {
    realm: keyring.realm,
    fields: keyring.fields.map((pair) => ({ ...pair })),
    signer: active && { kid: active.kid, alg: active.alg, privateKey: active.privateKey },
    verifiers: new Map(signingKeys.map(({ kid, alg, publicKey }) => [kid, { alg, publicKey }])),
    publicJwks: activeFirst(keyring.signing).map(publicJwk),
    refreshKeys,
    refreshSigner:
      activeRefreshKid === undefined || !activeRefreshKey
        ? undefined
        : { kid: activeRefreshKid, key: activeRefreshKey },
    primaryVersion: keyring.encryption.find(({ state }) => state === 'primary')?.version,
    encryptionState: (version) => states.get(version),
    fieldKey: fieldKeys(keyring.realm, versionKeys),
    fingerprints: [
      ...keyring.signing.map(({ kid }) => kid),
      ...keyring.refresh.map(({ kid }) => kid),
      ...usable.map(({ fingerprint }) => fingerprint),
    ],
  }
}

function fieldKeys(realm: string, versionKeys: ReadonlyMap<number, KeyObject>): LoadedKeyring['fieldKey'] {
  const derived = new Map<number, Map<string, KeyObject>>()
  let count = 0
  return (field, tag, version) => {
    const versionKey = versionKeys.get(version)
    if (!versionKey) return undefined
    let ofVersion = derived.get(version)
    if (!ofVersion) derived.set(version, (ofVersion = new Map()))
    // A tag has no space in it, so two pairs never share a name.
    const pair = `${tag} ${field}`
    const known = ofVersion.get(pair)
    if (known) return known
    const key = deriveFieldKey(versionKey, realm, field, tag)
    if (count++ < MAX_FIELD_KEYS) ofVersion.set(pair, key)
    return key
  }
}

/** Some clients take the first key of a JWKS. */
function activeFirst(keys: readonly SigningKey[]): SigningKey[] {
  return keys.toSorted((a, b) => Number(b.state === 'active') - Number(a.state === 'active'))
}

function publicJwk(key: SigningKey): JsonWebKey {
  return { kid: key.kid, alg: key.alg, use: 'sig', ...publicMembers(key.jwk, key.alg) }
}

function secretKey(text: string): KeyObject {
  const bytes = Buffer.from(text, 'base64url')
  const key = createSecretKey(bytes)
  bytes.fill(0)
  return key
}
