import { generateKeyPairSync, randomUUID } from 'node:crypto'
import type { JsonWebKey } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isHeldObject } from '../../operator/source/directory/held_object.ts'
import type { Held, HeldObject } from '../../operator/source/directory/held_object.ts'
import { heldKey } from '../../operator/source/directory/held_object.ts'
import { stateSecrets } from '../../operator/source/directory/state_secrets.ts'
import { FIELD_ENCRYPTION_FEATURE, issueLicense } from '../../keyring/license.ts'
import { PlainError } from '../../process/plain_error.ts'

const LICENSE_DAYS = 365

/** The license key of a state directory, made when there is none. Resolves with the file of its public half. */
export async function keepLicenseKey(stateDir: string): Promise<string> {
  const publicFile = join(stateDir, 'license_keys.json')
  const privateJwk = (await readLicenseKey(stateDir)) ?? (await makeLicenseKey(stateDir))
  const { d: _private, ...publicJwk } = privateJwk
  await writeFile(publicFile, `${JSON.stringify({ keys: [publicJwk] }, undefined, 2)}\n`)
  return publicFile
}

/**
 * Issues the licenses that the Realms of a directory refer to and nobody has put there: without them the way to an
 * encrypted field would begin with a purchase. Returns what it did, one line for each.
 */
export async function issueMissingLicenses(
  stateDir: string,
  held: ReadonlyMap<string, Held>,
  now: Date,
): Promise<string[]> {
  const secrets = stateSecrets(stateDir)
  const said: string[] = []
  for (const realm of [...held.values()].filter(isHeldObject)) {
    const wanted = wantedLicense(realm)
    if (!wanted) continue
    const name = { namespace: realm.namespace, name: wanted.secret }
    if (held.has(heldKey({ kind: 'Secret', ...name })) || secrets.exists(name)) continue

    const privateJwk = await readLicenseKey(stateDir)
    if (!privateJwk) throw new PlainError(`${stateDir}/license_key.json is gone: start again to have another one made`)
    const license = issueLicense(
      {
        issuer: 'realmkeeper dev',
        realm: wanted.realm,
        features: [FIELD_ENCRYPTION_FEATURE],
        expiresAt: new Date(now.getTime() + LICENSE_DAYS * 86_400_000),
        jti: randomUUID(),
      },
      privateJwk,
    )
    const data = { [wanted.key]: Buffer.from(license).toString('base64') }
    const metadata = { uid: randomUUID(), creationTimestamp: now.toISOString().replace(/\.\d+Z$/, 'Z') }
    secrets.write({ type: 'secret', kind: 'Secret', ...name, labels: {}, annotations: {}, data }, metadata)
    said.push(
      `the license of realm "${wanted.realm}" (Secret ${name.namespace}/${name.name}) is not among the manifests: ` +
        `issued one for ${LICENSE_DAYS} days with the key of the state directory`,
    )
  }
  return said
}

/** The license that a Realm refers to and that the operator has looked for in vain. */
function wantedLicense(realm: HeldObject): { realm: string; secret: string; key: string } | undefined {
  if (realm.kind !== 'Realm' || realm.deletionTimestamp !== undefined) return undefined
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the state file holds what the Realm's schema accepted
  const spec = realm.spec as { realm?: string; identityProvider?: { licenseSecretRef?: { name: string; key: string } } }
  const reference = spec.identityProvider?.licenseSecretRef
  const verdict = realm.status?.conditions?.find(({ type }) => type === 'LicenseValid')
  if (!reference || verdict?.status === 'True' || verdict?.observedGeneration !== realm.generation) return undefined
  return { realm: spec.realm ?? realm.name, secret: reference.name, key: reference.key }
}

async function readLicenseKey(stateDir: string): Promise<JsonWebKey | undefined> {
  const text = await readFile(join(stateDir, 'license_key.json'), 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  try {
    const jwk: unknown = JSON.parse(text)
    if (isJwk(jwk)) return jwk
  } catch {
    // The parser's message would quote the file.
  }
  throw new PlainError(`${stateDir}/license_key.json is damaged: remove it, then start again`)
}

async function makeLicenseKey(stateDir: string): Promise<JsonWebKey> {
  const jwk = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  await writeFile(join(stateDir, 'license_key.json'), `${JSON.stringify(jwk)}\n`, { mode: 0o600 })
  return jwk
}

function isJwk(value: unknown): value is JsonWebKey {
  return typeof value === 'object' && value !== null && 'd' in value && typeof value.d === 'string'
}
