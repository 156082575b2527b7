import { timingSafeEqual } from 'node:crypto'
import { fingerprint } from './derivation.ts'
import { SIGNING_ALGORITHMS, type SigningAlgorithm } from './jws.ts'
import {
  KeyringError,
  readChoice,
  readInteger,
  readKeyBytes,
  readList,
  readObject,
  readText,
  readTime,
  readTimes,
  refuseDuplicates,
  type Members,
} from './members.ts'
import { readPrivateJwk, type PrivateJwk } from './signing_jwk.ts'
import { parseStrictJsonBytes, StrictJsonError } from './strict_json.ts'

/** The content of `keyring.json`: every key of one realm. Hold it briefly, never log it; `loadKeyring` makes what is kept. */
export interface Keyring {
  formatVersion: 1
  realm: string
  /** The Realm resource that this keyring serves; another one of the same realm name does not get it. */
  owner: { namespace: string; name: string }
  /** Field and tag belong together for ever, removed fields included. */
  fields: FieldPair[]
  signing: SigningKey[]
  refresh: RefreshKey[]
  encryption: EncryptionKey[]
  /** The last rotation on demand that was carried out, by kind: a digest of the annotation's value. */
  rotated: Partial<Record<KeyKind, string>>
}

export type KeyKind = 'signing' | 'refresh' | 'encryption'
export type FieldBinding = 'Realm' | 'Subject'

export interface FieldPair {
  field: string
  tag: string
  binding: FieldBinding
}

/** What signing and refresh keys have in common. Times are RFC 3339 texts. */
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
 * `key` is 32 random bytes in base64url. RFC 7518 section 3.2 asks for 64 with HS512; 256 bits of entropy are enough for
 * tokens that nobody but this installation reads.
 */
export interface RefreshKey extends TokenKey {
  key: string
}

/** `key` is 32 bytes in base64url; a destroyed key has none, and stays as a tombstone for ever. */
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

/** A keyring without any key, for a realm that never had one. */
export function emptyKeyring(realm: string, owner: { namespace: string; name: string }): Keyring {
  return { formatVersion: 1, realm, owner, fields: [], signing: [], refresh: [], encryption: [], rotated: {} }
}

/** The bytes of `keyring.json`. The same keyring always gives the same bytes only if its members were made in the same order. */
export function serializeKeyring(keyring: Keyring): Buffer {
  return Buffer.from(`${JSON.stringify(keyring, undefined, 1)}\n`, 'utf8')
}

/**
 * Reads the bytes of `keyring.json` and checks everything that can be checked without other sources: a keyring that
 * this returns can sign, verify and decrypt with every key it lists.
 * @throws KeyringError; its message names the place and never what stands there
 */
export async function parseKeyring(bytes: Uint8Array, realm: string): Promise<Keyring> {
  if (bytes.length === 0) throw new KeyringError('keyring.json is empty')
  if (bytes.length > MAX_KEYRING_BYTES) throw new KeyringError(`keyring.json is over ${MAX_KEYRING_BYTES} bytes`)
  const top = readObject(
    parseJson(bytes),
    'keyring.json',
    ['formatVersion', 'realm', 'owner', 'fields', 'signing', 'refresh', 'encryption'],
    ['rotated'],
  )
  if (top.formatVersion !== 1)
    throw new KeyringError('keyring.json has a formatVersion other than 1, the one known here')
  if (readText(top.realm, 'realm', 63) !== realm) throw new KeyringError(`keyring.json is not of the realm "${realm}"`)
  const owner = readObject(top.owner, 'owner', ['namespace', 'name'])
  const keyring: Keyring = {
    formatVersion: 1,
    realm,
    owner: {
      namespace: readText(owner.namespace, 'owner.namespace', 253),
      name: readText(owner.name, 'owner.name', 253),
    },
    fields: readList(top.fields, 'fields', MAX_FIELD_PAIRS).map((item, at) => readField(item, `fields[${at}]`)),
    signing: await readSigningKeys(top.signing),
    refresh: readList(top.refresh, 'refresh', MAX_TOKEN_KEYS).map((item, at) => readRefresh(item, `refresh[${at}]`)),
    encryption: readList(top.encryption, 'encryption', MAX_ENCRYPTION_KEYS).map((item, at) =>
      readEncryption(item, `encryption[${at}]`),
    ),
    rotated: readRotated(top.rotated ?? {}),
  }
  checkTogether(keyring)
  return keyring
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return parseStrictJsonBytes(bytes, 6)
  } catch (error) {
    throw new KeyringError(`keyring.json: ${error instanceof StrictJsonError ? error.message : 'cannot be read'}`)
  }
}

const TAG = /^[a-z0-9_]{1,48}$/

function readField(value: unknown, where: string): FieldPair {
  const { field, tag, binding } = readObject(value, where, ['field', 'tag', 'binding'])
  if (typeof tag !== 'string' || !TAG.test(tag)) throw new KeyringError(`${where}.tag is not [a-z0-9_]{1,48}`)
  return {
    field: readText(field, `${where}.field`, 1024),
    tag,
    binding: readChoice(binding, `${where}.binding`, ['Realm', 'Subject']),
  }
}

const TOKEN_KEY_MEMBERS = ['kid', 'state', 'createdAt']
const TOKEN_KEY_TIMES = ['publishedAt', 'activatedAt', 'passiveAt'] as const
const OPTIONAL_TOKEN_KEY_MEMBERS = [...TOKEN_KEY_TIMES, 'tokenLifetimeSeconds']
const MAX_LIFETIME_SECONDS = 2 ** 31 - 1

function readTokenKey(members: Members, where: string): TokenKey {
  const lifetime = members.tokenLifetimeSeconds
  return {
    kid: readText(members.kid, `${where}.kid`, 128),
    state: readChoice(members.state, `${where}.state`, TOKEN_KEY_STATES),
    createdAt: readTime(members.createdAt, `${where}.createdAt`),
    ...readTimes(members, where, TOKEN_KEY_TIMES),
    ...(lifetime !== undefined && {
      tokenLifetimeSeconds: readInteger(lifetime, `${where}.tokenLifetimeSeconds`, 1, MAX_LIFETIME_SECONDS),
    }),
  }
}

async function readSigningKeys(value: unknown): Promise<SigningKey[]> {
  const keys: SigningKey[] = []
  // One after another: the first damaged key is the one that the error names.
  for (const [at, item] of readList(value, 'signing', MAX_TOKEN_KEYS).entries()) {
    keys.push(await readSigning(item, `signing[${at}]`))
  }
  return keys
}

async function readSigning(value: unknown, where: string): Promise<SigningKey> {
  const members = readObject(value, where, [...TOKEN_KEY_MEMBERS, 'alg', 'jwk'], OPTIONAL_TOKEN_KEY_MEMBERS)
  const alg = readChoice(members.alg, `${where}.alg`, SIGNING_ALGORITHMS)
  const common = readTokenKey(members, where)
  return { ...common, alg, jwk: await readPrivateJwk(members.jwk, where, alg, common.kid) }
}

function readRefresh(value: unknown, where: string): RefreshKey {
  const members = readObject(value, where, [...TOKEN_KEY_MEMBERS, 'key'], OPTIONAL_TOKEN_KEY_MEMBERS)
  readKeyBytes(members.key, `${where}.key`)
  return { ...readTokenKey(members, where), key: String(members.key) }
}

const ENCRYPTION_TIMES = ['primaryAt', 'decryptOnlyAt', 'disabledAt', 'destroyedAt'] as const

function readEncryption(value: unknown, where: string): EncryptionKey {
  const required = ['version', 'fingerprint', 'state', 'createdAt']
  const members = readObject(value, where, required, ['key', ...ENCRYPTION_TIMES])
  const state = readChoice(members.state, `${where}.state`, ENCRYPTION_STATES)
  if (typeof members.fingerprint !== 'string' || !/^[0-9a-f]{16}$/.test(members.fingerprint)) {
    throw new KeyringError(`${where}.fingerprint is not 16 hexadecimal digits`)
  }
  if (state === 'destroyed' && members.key !== undefined) {
    throw new KeyringError(`${where} is destroyed and still has a key; remove the key`)
  }
  if (state !== 'destroyed') checkFingerprint(readKeyBytes(members.key, `${where}.key`), members.fingerprint, where)
  return {
    version: readInteger(members.version, `${where}.version`, 1, MAX_KEY_VERSION),
    fingerprint: members.fingerprint,
    state,
    ...(state !== 'destroyed' && { key: String(members.key) }),
    createdAt: readTime(members.createdAt, `${where}.createdAt`),
    ...readTimes(members, where, ENCRYPTION_TIMES),
  }
}

function checkFingerprint(key: Buffer, stated: string, where: string): void {
  if (timingSafeEqual(Buffer.from(fingerprint(key)), Buffer.from(stated))) return
  throw new KeyringError(`${where}.fingerprint is not that of its key`)
}

function readRotated(value: unknown): Partial<Record<KeyKind, string>> {
  const kinds: KeyKind[] = ['signing', 'refresh', 'encryption']
  const members = readObject(value, 'rotated', [], kinds)
  const rotated: Partial<Record<KeyKind, string>> = {}
  for (const kind of kinds) {
    if (members[kind] !== undefined) rotated[kind] = readText(members[kind], `rotated.${kind}`, 64)
  }
  return rotated
}

/** Rules over several keys: what names a key names one, and at most one of a kind is in use. */
function checkTogether({ fields, signing, refresh, encryption }: Keyring): void {
  refuseDuplicates(fields, 'entries of one field', ({ field }) => field)
  refuseDuplicates(fields, 'fields with one tag', ({ tag }) => tag)
  refuseDuplicates([...signing, ...refresh], 'signing or refresh keys with one kid', ({ kid }) => kid)
  refuseDuplicates(encryption, 'encryption keys of one version', ({ version }) => version)
  refuseDuplicates(encryption, 'encryption keys with one fingerprint', (key) => key.fingerprint)
  refuseDuplicates([...refresh, ...encryption], 'keys with the same bytes', ({ key }) => key)
  refuseDuplicates(signing, 'active signing keys', ({ state }) => (state === 'active' ? state : undefined))
  refuseDuplicates(refresh, 'active refresh keys', ({ state }) => (state === 'active' ? state : undefined))
  refuseDuplicates(encryption, 'primary encryption keys', ({ state }) => (state === 'primary' ? state : undefined))
}
