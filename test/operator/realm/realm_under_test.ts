import { generateKeyPairSync } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { serializeKeyring } from '../../../keyring/keyring.ts'
import { parseKeyring } from '../../../keyring/parse_keyring.ts'
import type { Keyring } from '../../../keyring/keyring.ts'
import { issueLicense } from '../../../keyring/license.ts'
import { realm, secret } from '../manifests.ts'
import type { Manifest, OperatorUnderTest } from '../operator_under_test.ts'

/** The file of a realm's keyring in the state directory, for reading and for faults. */
export function keyringFile(operator: OperatorUnderTest, name = 'shop') {
  const path = join(operator.stateDir, 'secrets', 'realmkeeper', `realm-${name}-keyring.json`)
  type SecretFile = { metadata: { annotations: Record<string, string> }; data: Record<string, string> }
  const read = async (): Promise<SecretFile> => JSON.parse(await readFile(path, 'utf8')) as SecretFile
  return {
    path,
    read,
    async keyring(): Promise<Keyring> {
      return parseKeyring(Buffer.from((await read()).data['keyring.json'] ?? '', 'base64'), name)
    },
    async text(): Promise<string> {
      return readFile(path, 'utf8')
    },
    async replace(text: string): Promise<void> {
      await writeFile(path, text)
    },
    /** Replaces the content of the Secret. */
    async edit(change: (content: string) => string): Promise<void> {
      const manifest = await read()
      const content = Buffer.from(manifest.data['keyring.json'] ?? '', 'base64').toString()
      manifest.data['keyring.json'] = Buffer.from(change(content)).toString('base64')
      await writeFile(path, JSON.stringify(manifest))
    },
    async editKeyring(change: (keyring: Keyring) => Keyring): Promise<void> {
      const keyring = change(await this.keyring())
      await this.edit(() => serializeKeyring(keyring).toString())
    },
    async annotate(annotations: Record<string, string>): Promise<void> {
      const manifest = await read()
      manifest.metadata.annotations = annotations
      await writeFile(path, JSON.stringify(manifest))
    },
  }
}

const LICENSE_KEY = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })

/** A file of license keys, and licenses signed with them. */
export async function licensing(operator: OperatorUnderTest) {
  const file = join(operator.stateDir, 'test_license_keys.json')
  const { d: _d, ...publicKey } = LICENSE_KEY
  await writeFile(file, JSON.stringify({ keys: [publicKey] }))
  return {
    file,
    license: async (expiresAt: Date, realmName = 'shop'): Promise<Manifest> => {
      const claims = { issuer: 'test', realm: realmName, features: ['field-encryption'], expiresAt, jti: 'j' }
      return secret('license', { license: await issueLicense(claims, LICENSE_KEY) })
    },
  }
}

/** A Realm with every precondition of field encryption in its spec. */
export function encryptingRealm(fields: object[] = [{ name: 'dateOfBirth', tag: 'dob' }], annotations = {}): Manifest {
  return realm(
    'shop',
    {
      identityProvider: { alias: 'local', licenseSecretRef: { name: 'license' } },
      identityGovernance: { enabled: true },
      fieldEncryption: { fields },
    },
    { annotations },
  )
}

/** Writes the row of a granted assignment of svc-realm-admin. */
export async function grantRealmAdmin(operator: OperatorUnderTest, expiresAt: Date | null = null): Promise<void> {
  await operator.rows(
    `insert into granted_roles (realm, subject_kind, subject, role, assignment_uid, expires_at)
     values ('shop', 'User', 'alice', 'svc-realm-admin', 'granted-by-hand', $1)`,
    expiresAt,
  )
}
