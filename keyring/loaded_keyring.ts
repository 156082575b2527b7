import { createSecretKey, type KeyObject } from 'node:crypto'
import type { JWK } from 'jose'
import { deriveFieldKey } from './derivation.ts'
import type { HmacKey, Signer, Verifier } from './jws.ts'
import type { EncryptionState, Keyring, SigningKey } from './keyring.ts'
import { importSigningJwk, publicMembers } from './signing_jwk.ts'

/** A keyring that a process holds: imported keys, and no text or buffer of any key. */
export interface LoadedKeyring {
  readonly realm: string
  /** The active signing key. Undefined: nothing can be signed (`keyring_unavailable`). */
  readonly signer: ({ kid: string } & Signer) | undefined
  /** Public keys of every signing key held, by kid, each with its own algorithm. */
  readonly verifiers: ReadonlyMap<string, Verifier>
  /** The keys of the JWK Set: public members, `kid`, `alg` and `use`; the active key first. */
  readonly publicJwks: readonly JWK[]
  /** Every refresh key held, by kid. Each signs and verifies refresh tokens, and derives their `jti`. */
  readonly refreshKeys: ReadonlyMap<string, HmacKey>
  /** The kid of the refresh key that signs new tokens. */
  readonly refreshKid: string | undefined
  /** The version that encrypts. Undefined: nothing can be encrypted. */
  readonly primaryVersion: number | undefined
  /** Undefined for a version that was never in the ring. */
  encryptionState(version: number): EncryptionState | undefined
  /** K_field, derived once; undefined when the version has no usable key (absent, disabled, destroyed). */
  fieldKey(field: string, tag: string, version: number): KeyObject | undefined
  /** What a replica reports: kids of signing and refresh keys, fingerprints of usable encryption keys. */
  readonly fingerprints: readonly string[]
}

/** The most derived keys held. A realm has up to 64 fields and a few versions in use. */
const MAX_FIELD_KEYS = 4096

/**
 * Imports the keys of a parsed keyring, each once. Keys of disabled versions are not loaded.
 * @throws KeyringError when a JWK cannot be imported; never for what parseKeyring returned
 */
export async function loadKeyring(keyring: Keyring): Promise<LoadedKeyring> {
  const ordered = activeFirst(keyring.signing)
  const signingKeys = await Promise.all(
    ordered.map(async ({ kid, alg, state, jwk }) => ({
      ...(await importSigningJwk(jwk, alg, 'signing')),
      kid,
      alg,
      state,
    })),
  )
  const active = signingKeys.find(({ state }) => state === 'active')

  const states = new Map(keyring.encryption.map(({ version, state }) => [version, state]))
  const usable = keyring.encryption.filter(({ state }) => state !== 'disabled' && state !== 'destroyed')
  const versionKeys = new Map(usable.flatMap(({ version, key }) => (key ? [[version, secretKey(key)] as const] : [])))

  return {
    realm: keyring.realm,
    signer: active && { kid: active.kid, alg: active.alg, key: active.privateKey },
    verifiers: new Map(signingKeys.map(({ kid, alg, publicKey }) => [kid, { alg, key: publicKey }])),
    publicJwks: ordered.map(publicJwk),
    refreshKeys: new Map(keyring.refresh.map(({ kid, key }) => [kid, { alg: 'HS512', key: secretKey(key) }])),
    refreshKid: keyring.refresh.find(({ state }) => state === 'active')?.kid,
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

function publicJwk(key: SigningKey): JWK {
  return { kid: key.kid, alg: key.alg, use: 'sig', ...publicMembers(key.jwk, key.alg) }
}

function secretKey(text: string): KeyObject {
  const bytes = Buffer.from(text, 'base64url')
  const key = createSecretKey(bytes)
  bytes.fill(0)
  return key
}
