import { randomBytes } from 'node:crypto'
import type { ReconcilerDeps } from '../deps.ts'
import { issuerOf, tokenEndpointOf } from '../../process/issuer.ts'
import { KEYRING_LABEL } from '../../keyring/keyring.ts'
import { NotYet } from '../view/view.ts'
import { referencedValue, secretText, sourceText, unusableValue } from '../view/referenced_secret.ts'
import type { UnusableValue } from '../view/referenced_secret.ts'
import { pathOf } from '../view/resource_types.ts'
import type { ClientResource } from '../view/resource_types.ts'
import type { KnownClient } from '../rows/rows.ts'
import { ResourceConflict } from '../source/resource_source.ts'
import type { Secret, SecretName, SecretVersion } from '../source/resource_source.ts'
import { clientSecretName } from '../view/relations.ts'

/** The secret that a Client's row must hold. */
export interface ResolvedClientSecret {
  /** The state of the Secret that the value was read from. */
  source: string | null
  /** Null: the client has none. Undefined: the row keeps its secret. */
  value: string | null | undefined
  /** Why the secret of the spec cannot be used. The former one, if any, stays. */
  problem?: UnusableValue
}

type Deps = Pick<ReconcilerDeps, 'secrets' | 'baseUrl'>

/** Client secrets are stored as a fast hash, so they must be too long to guess. */
export const MIN_CLIENT_SECRET_LENGTH = 16
const MAX_LENGTH = 1_024

/** Reads a Client's secret, or generates it. Never generates one in place of a referenced Secret that is missing. */
export async function resolveClientSecret(
  client: ClientResource,
  realm: string,
  known: KnownClient | undefined,
  deps: Deps,
): Promise<ResolvedClientSecret> {
  const name = clientSecretName(client)
  if (name === undefined) return { source: null, value: null }
  const at = { namespace: client.metadata.namespace, name }
  const ref = client.spec.clientSecret?.secretRef
  return ref ? referencedSecret(at, ref.key, known, deps) : generatedSecret(at, client, realm, known, deps)
}

async function referencedSecret(
  at: SecretName,
  key: string,
  known: KnownClient | undefined,
  { secrets }: Deps,
): Promise<ResolvedClientSecret> {
  const version = secrets.version(at)
  if (version && known?.secretSource === sourceText(version, key)) return unchanged(known)
  const found = await referencedValue(secrets, at, key)
  if (!found.found) return { ...unchanged(known), problem: unusableValue(VALUE, at, key, found.detail) }
  return usable(found.bytes, sourceText(found.version, key), known, at, key)
}

async function generatedSecret(
  at: SecretName,
  client: ClientResource,
  realm: string,
  known: KnownClient | undefined,
  { secrets, baseUrl }: Deps,
): Promise<ResolvedClientSecret> {
  const issuer = issuerOf(baseUrl, realm)
  // The Secret also holds the issuer, so another issuer is another source.
  const sourceOf = (version: SecretVersion): string => sourceText(version, `${SECRET_ENTRY} ${issuer}`)
  const rest = {
    client_id: Buffer.from(client.spec.clientId),
    issuer: Buffer.from(issuer),
    token_endpoint: Buffer.from(tokenEndpointOf(issuer)),
  }
  const version = secrets.version(at)
  if (!version) {
    const value = randomBytes(32).toString('base64url')
    const data = { ...rest, [SECRET_ENTRY]: Buffer.from(value) }
    try {
      const made = await secrets.create({ ...at, labels: LABELS, controller: client, data })
      return { source: sourceOf(made), value }
    } catch (error) {
      if (!(error instanceof ResourceConflict)) throw error
    }
  }
  if (version && known?.secretSource === sourceOf(version)) return unchanged(known)

  // A read, because the watch may not have seen a Secret that was just created.
  const present = await secrets.read(at)
  if (!present && version) throw new NotYet(`Secret ${pathOf(at)} cannot be read at present`)
  if (present?.controllerUid !== client.metadata.uid || present.labels[KEYRING_LABEL] !== undefined) {
    return { ...unchanged(known), problem: notOwned(at) }
  }
  const value = present.data[SECRET_ENTRY] ?? Buffer.from(randomBytes(32).toString('base64url'))
  const { labels, annotations } = present
  const data = { ...present.data, ...rest, [SECRET_ENTRY]: value }
  const stored = isSame(present, data)
    ? present.version
    : await secrets.update({ ...at, labels, annotations, controller: client, data }, present.version)
  return usable(value, sourceOf(stored), known, at, SECRET_ENTRY)
}

const SECRET_ENTRY = 'client_secret'
const VALUE = 'client secret'
const LABELS = { 'app.kubernetes.io/managed-by': 'realmkeeper' }

function isSame({ data }: Secret, desired: Secret['data']): boolean {
  return Object.entries(desired).every(([entry, bytes]) => data[entry]?.equals(bytes) === true)
}

function usable(
  bytes: Buffer,
  source: string,
  known: KnownClient | undefined,
  at: SecretName,
  key: string,
): ResolvedClientSecret {
  const text = secretText(bytes, { minLength: MIN_CLIENT_SECRET_LENGTH, maxLength: MAX_LENGTH })
  if (text.usable) return { source, value: text.value }
  return { ...unchanged(known), problem: unusableValue(VALUE, at, key, `it ${text.detail}`) }
}

function unchanged(known: KnownClient | undefined): ResolvedClientSecret {
  return { source: known?.secretSource ?? null, value: undefined }
}

function notOwned(at: SecretName): UnusableValue {
  const message = `Secret ${pathOf(at)} does not belong to this Client: name another one in clientSecret.generate.secretName, or delete it`
  return { reason: 'SecretNotOwned', message }
}
