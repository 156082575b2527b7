import { KEYRING_LABEL } from '../../keyring/keyring.ts'
import { AUDIT_LABEL } from '../audit/audit_secret.ts'
import { NotYet } from './view.ts'
import { pathOf } from './resource_types.ts'
import type { SecretAccess, SecretName, SecretVersion } from '../source/resource_source.ts'

/** `detail` is for the log, and names no Secret: the message does. */
export type ReferencedValue = { found: true; bytes: Buffer; version: SecretVersion } | { found: false; detail: string }

/** Why a referenced value cannot be used. `reason` and `message` are for status, `detail` for the log alone. */
export interface UnusableValue {
  reason: string
  message: string
  detail?: string
}

/**
 * One reason and one text for every cause: an author of resources who has no right on Secrets must not learn from status
 * whether a Secret or its entry exists, or how long the entry is.
 */
export function unusableValue(what: string, name: SecretName, key: string, detail: string): UnusableValue {
  const message =
    `the ${what} is not usable: entry "${key}" of Secret ${pathOf(name)} is missing or is not accepted; ` +
    'the log of the operator has the cause'
  return { reason: 'SecretNotFound', message, detail: `the ${what} is not usable: ${detail}` }
}

/**
 * Reads one entry of a Secret that a resource names. Refuses keys of the installation: their bytes must not become a
 * password or a client secret. Throws NotYet when the Secret exists and cannot be read.
 */
export async function referencedValue(secrets: SecretAccess, name: SecretName, key: string): Promise<ReferencedValue> {
  if (!secrets.version(name)) return { found: false, detail: 'there is no such Secret' }
  const secret = await secrets.read(name)
  if (!secret) throw new NotYet(`Secret ${pathOf(name)} cannot be read now`)
  const label = [KEYRING_LABEL, AUDIT_LABEL].find((label) => secret.labels[label] !== undefined)
  if (label !== undefined) {
    return { found: false, detail: `the Secret carries the label ${label}: such keys cannot be referenced` }
  }
  const bytes = Object.hasOwn(secret.data, key) ? secret.data[key] : undefined
  if (!bytes) return { found: false, detail: 'the Secret has no such entry' }
  return { found: true, bytes, version: secret.version }
}

/** Identifies one state of one entry of a Secret. */
export function sourceText({ uid, resourceVersion }: SecretVersion, key: string): string {
  return `${uid} ${resourceVersion} ${key}`
}

export type SecretText = { usable: true; value: string; newlineDropped: boolean } | { usable: false; detail: string }

/**
 * The text in an entry of a Secret. One newline at the end, which editors and `echo` add, is dropped. Lengths are in
 * characters, after the normalization. `detail` continues a sentence that begins with the name of the value, does not
 * quote the value, and is for the log.
 */
export function secretText(
  bytes: Buffer,
  { minLength, maxLength, form }: { minLength: number; maxLength: number; form?: 'NFC' },
): SecretText {
  const refused = (detail: string): SecretText => ({ usable: false, detail })
  const tooLong = `is longer than ${maxLength} characters`
  // Also before the normalization, a text of `maxLength` characters has no more bytes.
  if (bytes.length > maxLength * 8) return refused(tooLong)
  const text = utf8(bytes)
  if (text === undefined) return refused('is not UTF-8 text')
  const line = text.replace(/\r?\n$/, '')
  const value = form ? line.normalize(form) : line
  if (value.length < minLength) return refused(minLength === 1 ? 'is empty' : `is shorter than ${minLength} characters`)
  if (value.length > maxLength) return refused(tooLong)
  if (value.includes('\0')) return refused('holds the character U+0000')
  return { usable: true, value, newlineDropped: line !== text }
}

/** The bytes as text; undefined when they are not UTF-8. A byte order mark is part of the text. */
export function utf8(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}
