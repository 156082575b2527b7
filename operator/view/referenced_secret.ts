import { KEYRING_LABEL } from '../../keyring/keyring.ts'
import { NotYet } from './view.ts'
import { pathOf } from './resource_types.ts'
import type { Secret, SecretAccess, SecretName, SecretVersion } from '../source/resource_source.ts'

export type ReferencedValue =
  | { found: true; bytes: Buffer; version: SecretVersion }
  | { found: false; reason: 'SecretNotFound' | 'SecretRefused'; message: string }

/**
 * Reads one entry of a Secret that a resource names. Refuses keyrings: their key bytes must not become a password or a
 * client secret. Throws NotYet when the Secret exists and cannot be read.
 */
export async function referencedValue(secrets: SecretAccess, name: SecretName, key: string): Promise<ReferencedValue> {
  if (!secrets.version(name)) return notFound(`there is no Secret ${pathOf(name)}`)
  const secret = await readPresent(secrets, name)
  if (secret.labels[KEYRING_LABEL] !== undefined) {
    const message = `Secret ${pathOf(name)} carries the label ${KEYRING_LABEL}: keyrings cannot be referenced`
    return { found: false, reason: 'SecretRefused', message }
  }
  const bytes = Object.hasOwn(secret.data, key) ? secret.data[key] : undefined
  if (!bytes) return notFound(`Secret ${pathOf(name)} has no entry "${key}"`)
  return { found: true, bytes, version: secret.version }
}

async function readPresent(secrets: SecretAccess, name: SecretName): Promise<Secret> {
  const secret = await secrets.read(name)
  if (!secret) throw new NotYet(`Secret ${pathOf(name)} cannot be read now`)
  return secret
}

/** Identifies one state of one entry of a Secret. */
export function sourceText({ uid, resourceVersion }: SecretVersion, key: string): string {
  return `${uid} ${resourceVersion} ${key}`
}

/** The bytes as text; undefined when they are not UTF-8. A byte order mark is part of the text. */
export function utf8(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function notFound(message: string): ReferencedValue {
  return { found: false, reason: 'SecretNotFound', message }
}
