import { timingSafeEqual } from 'node:crypto'
import { fingerprint } from './derivation.ts'
import { SIGNING_ALGORITHMS } from './jws.ts'
import {
  ENCRYPTION_STATES,
  KEYRING_ENTRY,
  MAX_ENCRYPTION_KEYS,
  MAX_FIELD_PAIRS,
  MAX_KEY_VERSION,
  MAX_KEYRING_BYTES,
  MAX_TOKEN_KEYS,
  TOKEN_KEY_STATES,
  type EncryptionKey,
  type FieldPair,
  type KeyKind,
  type Keyring,
  type RefreshKey,
  type SigningKey,
  type TokenKey,
} from './keyring.ts'
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
import { readPrivateJwk } from './signing_jwk.ts'
import { parseStrictJsonBytes, StrictJsonError } from './strict_parsing.ts'

/**
 * Reads the bytes of `keyring.json` and checks everything that can be checked without other sources: every key of the
 * returned keyring can sign, verify or decrypt.
 * @throws KeyringError; its message names the member and never its value
 */
export async function parseKeyring(bytes: Uint8Array, realm: string): Promise<Keyring> {
  if (bytes.length === 0) throw new KeyringError(`${KEYRING_ENTRY} is empty`)
  if (bytes.length > MAX_KEYRING_BYTES) throw new KeyringError(`keyring.json is over ${MAX_KEYRING_BYTES} bytes`)
  const top = readObject(
    parseJson(bytes),
    KEYRING_ENTRY,
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
  const common = readTokenKey(members, where)
  // Otherwise other bytes could pass for a recorded key.
  if (common.kid !== fingerprint(readKeyBytes(members.key, `${where}.key`))) {
    throw new KeyringError(`${where}.kid is not the fingerprint of its key`)
  }
  return { ...common, key: String(members.key) }
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

/** Rules over several keys: names are unique, and at most one key of a kind is in use. */
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
