import { randomUUID } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { JWK } from 'jose'
import type { StoredObject, StoredResource } from '../../operator/source/directory/state/stored_object.ts'
import { isStoredResource } from '../../operator/source/directory/state/stored_object.ts'
import { keyText } from '../../operator/source/resource.ts'
import { stateSecrets } from '../../operator/source/directory/state/state_secrets.ts'
import type { Realm } from '../../crds/realm.gen.ts'
import { FIELD_ENCRYPTION_FEATURE, generateLicenseKey, issueLicense } from '../../keyring/license.ts'
import { PlainError } from '../../process/plain_error.ts'

const LICENSE_DAYS = 365

/** Creates the license key of a state directory if it has none. Resolves with the file of its public half. */
export async function createLicenseKey(stateDir: string): Promise<string> {
  const publicFile = join(stateDir, 'license_keys.json')
  const privateJwk = (await readLicenseKey(stateDir)) ?? (await writeLicenseKey(stateDir))
  const { d: _private, ...publicJwk } = privateJwk
  await writeFile(publicFile, `${JSON.stringify({ keys: [publicJwk] }, undefined, 2)}\n`)
  return publicFile
}

/**
 * Issues the licenses that Realms refer to and that are missing, so that field encryption can be tried without one.
 * Returns one line for each that it issued. A Realm may refer to a license at any time: call it repeatedly.
 */
export async function issueMissingLicenses(
  stateDir: string,
  stored: ReadonlyMap<string, StoredObject>,
  now: Date,
): Promise<string[]> {
  const secrets = stateSecrets(stateDir)
  const issued: string[] = []
  for (const realm of [...stored.values()].filter(isStoredResource)) {
    const missing = missingLicense(realm)
    if (!missing) continue
    const name = { namespace: realm.namespace, name: missing.secret }
    if (stored.has(keyText({ kind: 'Secret', ...name })) || secrets.exists(name)) continue

    const privateJwk = await readLicenseKey(stateDir)
    if (!privateJwk) throw new PlainError(`${stateDir}/license_key.json is missing: start again, which creates another`)
    const license = await issueLicense(
      {
        issuer: 'realmkeeper dev',
        realm: missing.realm,
        features: [FIELD_ENCRYPTION_FEATURE],
        expiresAt: new Date(now.getTime() + LICENSE_DAYS * 86_400_000),
        jti: randomUUID(),
      },
      privateJwk,
    )
    const data = { [missing.key]: Buffer.from(license).toString('base64') }
    const metadata = { uid: randomUUID(), creationTimestamp: now.toISOString().replace(/\.\d+Z$/, 'Z') }
    secrets.write({ type: 'secret', kind: 'Secret', ...name, labels: {}, annotations: {}, data }, metadata)
    issued.push(
      `the license of realm "${missing.realm}" (Secret ${name.namespace}/${name.name}) is not among the manifests: ` +
        `issued one that is valid for ${LICENSE_DAYS} days, signed with the key of the state directory`,
    )
  }
  return issued
}

/** The license that a Realm refers to and that the operator has reported as not valid. */
function missingLicense(realm: StoredResource): { realm: string; secret: string; key: string } | undefined {
  if (realm.kind !== 'Realm' || realm.deletionTimestamp !== undefined) return undefined
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the state file holds what the Realm's schema accepted
  const spec = realm.spec as Realm['spec']
  const reference = spec.identityProvider?.licenseSecretRef
  const condition = realm.status?.conditions?.find(({ type }) => type === 'LicenseValid')
  if (!reference || condition?.status === 'True' || condition?.observedGeneration !== realm.generation) return undefined
  return { realm: spec.realm ?? realm.name, secret: reference.name, key: reference.key }
}

async function readLicenseKey(stateDir: string): Promise<JWK | undefined> {
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

async function writeLicenseKey(stateDir: string): Promise<JWK> {
  const { privateJwk: jwk } = await generateLicenseKey()
  await writeFile(join(stateDir, 'license_key.json'), `${JSON.stringify(jwk)}\n`, { mode: 0o600 })
  return jwk
}

function isJwk(value: unknown): value is JWK {
  return typeof value === 'object' && value !== null && 'd' in value && typeof value.d === 'string'
}
