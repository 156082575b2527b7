import { MIN_CLIENT_SECRET_LENGTH } from '../../../operator/client/secret.ts'
import type { Finding } from '../finding.ts'
import { findingAt } from '../manifest.ts'
import type { Manifest } from '../manifest.ts'
import type { ManifestSet } from '../manifest_set.ts'

interface SecretReference {
  manifest: Manifest
  path: string[]
  name: string
  key: string
  use: 'client secret' | 'password' | 'license'
}

/** Reports Secrets that are missing, lack the key, or hold a value that cannot be used. */
export function secretReferenceFindings(set: ManifestSet): Finding[] {
  return [...references(set).flatMap((reference) => referenceFindings(set, reference)), ...generatedFindings(set)]
}

function references(set: ManifestSet): SecretReference[] {
  return [
    ...set.realms.flatMap(({ manifest, value }) => {
      const ref = value.spec.identityProvider?.licenseSecretRef
      return reference(manifest, ref, 'license', 'spec.identityProvider.licenseSecretRef')
    }),
    ...set.clients.flatMap(({ manifest, value }) => {
      return reference(manifest, value.spec.clientSecret?.secretRef, 'client secret', 'spec.clientSecret.secretRef')
    }),
    ...set.users.flatMap(({ manifest, value }) => {
      return reference(manifest, value.spec.passwordSecretRef, 'password', 'spec.passwordSecretRef')
    }),
  ]
}

function reference(
  manifest: Manifest,
  ref: { name: string; key: string } | undefined,
  use: SecretReference['use'],
  path: string,
): SecretReference[] {
  return ref ? [{ manifest, path: path.split('.'), ...ref, use }] : []
}

function referenceFindings(set: ManifestSet, reference: SecretReference): Finding[] {
  const { manifest, path, name, key, use } = reference
  const inNamespace = set.secrets.filter(({ namespace }) => namespace === manifest.namespace)
  const secret = inNamespace.find((candidate) => candidate.name === name)
  const report = (severity: 'error' | 'note', field: string, message: string) => [
    findingAt(manifest, severity, [...path, field], message),
  ]

  if (!secret) {
    const absent = `no Secret ${manifest.namespace}/${name} among these files`
    if (use === 'license') return report('note', 'name', `${absent}; "realmkeeper dev" issues a license instead`)
    if (inNamespace.length === 0) return report('note', 'name', `${absent}; it must exist when they are applied`)
    return report('error', 'name', `${absent}; name one that exists, or add it`)
  }
  if (secret.keyring) return report('error', 'name', `the Secret ${name} is a keyring, which cannot be referred to`)
  if (!secret.values) return []

  const value = secret.values.get(key)
  if (!value) return report('error', 'key', `the Secret ${name} has no entry ${key}`)
  if (value.length === 0) return report('error', 'key', `the entry ${key} of the Secret ${name} is empty`)
  if (use === 'client secret' && value.toString().length < MIN_CLIENT_SECRET_LENGTH) {
    return report('error', 'key', `the client secret in ${name} has less than ${MIN_CLIENT_SECRET_LENGTH} characters`)
  }
  if (use === 'password' && value.at(-1) === 0x0a) {
    return report('note', 'key', `the password in ${name} ends with a newline, which is dropped`)
  }
  return []
}

/** Reports Secrets that the operator would have to generate but that exist already: it never overwrites them. */
function generatedFindings(set: ManifestSet): Finding[] {
  return set.clients.flatMap(({ manifest, value }) => {
    const { type, clientSecret } = value.spec
    if (type === 'Public' || clientSecret?.secretRef) return []
    const name = clientSecret?.generate?.secretName ?? `${manifest.name}-client`
    const taken = set.secrets.some((secret) => secret.namespace === manifest.namespace && secret.name === name)
    if (!taken) return []
    const message = `the client secret would be generated into the Secret ${name}, which is among these files; refer to it with clientSecret.secretRef, or generate another`
    return [findingAt(manifest, 'error', ['spec', 'clientSecret'], message)]
  })
}
