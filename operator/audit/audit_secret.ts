import { calculateJwkThumbprint, type CryptoKey as PublicKey, type JWK } from 'jose'
import { importLicenseKey } from '../../keyring/license.ts'
import { generatePrivateJwk, publicMembers, readPrivateJwk } from '../../keyring/signing_jwk.ts'
import { isJsonObject, parseStrictJson } from '../../keyring/strict_parsing.ts'
import type { DesiredSecret, Secret, SecretAccess, SecretName } from '../source/resource_source.ts'
import type { AuditState } from './signature.ts'

/** The Secret in the namespace of the keyrings. The database knows nothing of it. */
export const AUDIT_SECRET = 'realmkeeper-audit'
const PRIVATE_ENTRY = 'private.json'
/** The public key, for `realmkeeper audit verify --audit-key`. */
const PUBLIC_ENTRY = 'public.json'
/** The last signed state, as `<number>:<digest>`. */
const SIGNED_ENTRY = 'signed'
/** A resource cannot reference a Secret that carries it. */
export const AUDIT_LABEL = 'realmkeeper.io/audit-key'

/** The key that signs audit chains, and the state that it signed last. */
export interface AuditKey {
  keyId: string
  privateJwk: JWK
  publicKey: PublicKey
  /** Number 0 before the first signature. */
  signed: AuditState
  /** Stores the state that was signed last. Rejects with ResourceConflict when another process changed the Secret. */
  store(signed: AuditState): Promise<void>
}

/** The Secret holds no usable key, or no usable state. The message quotes none of it. */
export class AuditSecretError extends Error {
  override readonly name = 'AuditSecretError'
}

/**
 * Reads the key, or generates it where there is no Secret.
 * @param none the digest of no heads
 * @throws AuditSecretError, ResourceConflict when another process created the Secret meanwhile
 */
export async function readAuditKey(
  secrets: SecretAccess,
  namespace: string,
  none: string,
): Promise<AuditKey & { isNew: boolean }> {
  const at = { namespace, name: AUDIT_SECRET }
  const found = await secrets.read(at)
  if (found) return { ...(await parsed(secrets, found, none)), isNew: false }
  if (secrets.version(at)) throw new AuditSecretError(`the Secret ${namespace}/${AUDIT_SECRET} cannot be read now`)
  const { jwk } = await generatePrivateJwk('EdDSA')
  await secrets.create(desired(at, jwk, { number: 0, digest: none }))
  const created = await secrets.read(at)
  if (!created) throw new AuditSecretError(`the Secret ${namespace}/${AUDIT_SECRET} was deleted when it was created`)
  return { ...(await parsed(secrets, created, none)), isNew: true }
}

async function parsed(secrets: SecretAccess, secret: Secret, none: string): Promise<AuditKey> {
  const { namespace, name, data, version } = secret
  const where = `the Secret ${namespace}/${name}`
  const privateJwk = await privateKeyIn(data[PRIVATE_ENTRY], where)
  const signed = stateIn(data[SIGNED_ENTRY]?.toString('utf8') ?? `0:${none}`)
  if (!signed) throw new AuditSecretError(`${where}: the entry "${SIGNED_ENTRY}" is not NUMBER:DIGEST`)
  return {
    keyId: await calculateJwkThumbprint(privateJwk),
    privateJwk,
    publicKey: await importLicenseKey(publicMembers(privateJwk, 'EdDSA')),
    signed,
    async store(state) {
      await secrets.update(desired({ namespace, name }, privateJwk, state), version)
    },
  }
}

async function privateKeyIn(content: Buffer | undefined, where: string): Promise<JWK> {
  try {
    const jwk = parseStrictJson(content?.toString('utf8') ?? '', 2)
    if (!isJsonObject(jwk)) throw new TypeError('a JWK is an object')
    return await readPrivateJwk(jwk, PRIVATE_ENTRY, 'EdDSA', await calculateJwkThumbprint(jwk))
  } catch {
    // The cause may quote the key.
    throw new AuditSecretError(`${where}: the entry "${PRIVATE_ENTRY}" is no private Ed25519 key (JWK)`)
  }
}

function stateIn(text: string): AuditState | undefined {
  const [, number, digest] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? []
  return digest === undefined ? undefined : { number: Number(number), digest }
}

function desired({ namespace, name }: SecretName, privateJwk: JWK, { number, digest }: AuditState): DesiredSecret {
  const data = {
    [PRIVATE_ENTRY]: JSON.stringify(privateJwk),
    [PUBLIC_ENTRY]: JSON.stringify(publicMembers(privateJwk, 'EdDSA')),
    [SIGNED_ENTRY]: `${number}:${digest}`,
  }
  return {
    namespace,
    name,
    labels: { [AUDIT_LABEL]: 'true' },
    data: Object.fromEntries(Object.entries(data).map(([entry, text]) => [entry, Buffer.from(text)])),
  }
}
