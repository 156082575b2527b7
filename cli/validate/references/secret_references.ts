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

/** A client secret is kept as a fast hash, so it has to be long enough not to be guessed. */
const MIN_CLIENT_SECRET_CHARACTERS = 16

/** That each Secret named is there, holds the key, and holds something usable under it. */
export function secretReferenceFindings(set: ManifestSet): Finding[] {
  return [...references(set).flatMap((reference) => referenceFindings(set, reference)), ...generatedFindings(set)]
}

function references(set: ManifestSet): SecretReference[] {
  return [
    ...set.realms.flatMap(({ manifest, value }): SecretReference[] => {
      const ref = value.spec.identityProvider?.licenseSecretRef
      return ref ? [{ manifest, path: ['spec', 'identityProvider', 'licenseSecretRef'], ...ref, use: 'license' }] : []
    }),
    ...set.clients.flatMap(({ manifest, value }): SecretReference[] => {
      const ref = value.spec.clientSecret?.secretRef
      return ref ? [{ manifest, path: ['spec', 'clientSecret', 'secretRef'], ...ref, use: 'client secret' }] : []
    }),
    ...set.users.flatMap(({ manifest, value }): SecretReference[] => {
      const ref = value.spec.passwordSecretRef
      return ref ? [{ manifest, path: ['spec', 'passwordSecretRef'], ...ref, use: 'password' }] : []
    }),
  ]
}

function referenceFindings(set: ManifestSet, reference: SecretReference): Finding[] {
  const { manifest, path, name, key, use } = reference
  const inNamespace = set.secrets.filter(({ namespace }) => namespace === manifest.namespace)
  const secret = inNamespace.find((candidate) => candidate.name === name)
  const say = (severity: 'error' | 'note', field: string, message: string) => [
    findingAt(manifest, severity, { path: [...path, field], message }),
  ]

  if (!secret) {
    const absent = `no Secret ${manifest.namespace}/${name} among these files`
    if (use === 'license') return say('note', 'name', `${absent}; "realmkeeper dev" issues a license in its place`)
    if (inNamespace.length === 0) return say('note', 'name', `${absent}; it has to be there when they are applied`)
    return say('error', 'name', `${absent}; name one that exists, or add it`)
  }
  if (secret.keyring) return say('error', 'name', `the Secret ${name} is a keyring, which cannot be referred to`)
  if (!secret.values) return []

  const value = secret.values.get(key)
  if (!value) return say('error', 'key', `the Secret ${name} has no entry ${key}`)
  if (value.length === 0) return say('error', 'key', `the entry ${key} of the Secret ${name} is empty`)
  if (use === 'client secret' && value.toString().length < MIN_CLIENT_SECRET_CHARACTERS) {
    return say('error', 'key', `the client secret in ${name} has less than ${MIN_CLIENT_SECRET_CHARACTERS} characters`)
  }
  if (use === 'password' && value.at(-1) === 0x0a) {
    return say('note', 'key', `the password in ${name} ends with a newline, which is dropped`)
  }
  return []
}

/** A generated Secret never takes the place of one that somebody else made. */
function generatedFindings(set: ManifestSet): Finding[] {
  return set.clients.flatMap(({ manifest, value }) => {
    const { type, clientSecret } = value.spec
    if (type === 'Public' || clientSecret?.secretRef) return []
    const name = clientSecret?.generate?.secretName ?? `${manifest.name}-client`
    const taken = set.secrets.some((secret) => secret.namespace === manifest.namespace && secret.name === name)
    if (!taken) return []
    const message = `the client secret would be generated into the Secret ${name}, which is among these files; refer to it with clientSecret.secretRef, or generate another`
    return [findingAt(manifest, 'error', { path: ['spec', 'clientSecret'], message })]
  })
}
