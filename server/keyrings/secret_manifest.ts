import { parseStrictJsonBytes } from '../../keyring/strict_json.ts'
import { KEYRING_ENTRY } from '../../keyring/keyring_secret.ts'
import type { KeyringReading } from './keyring_source.ts'

/** Takes the keyring out of a Secret in JSON, whose `data` is base64. A reason never holds a piece of the content. */
export function readSecretManifest(manifest: Uint8Array): KeyringReading {
  let secret: unknown
  try {
    secret = parseStrictJsonBytes(manifest, 16)
  } catch {
    return { outcome: 'unreadable', reason: 'the Secret is not valid JSON' }
  }
  if (!isObject(secret) || secret.kind !== 'Secret') return { outcome: 'unreadable', reason: 'it is not a Secret' }
  const entry = isObject(secret.data) ? secret.data[KEYRING_ENTRY] : undefined
  if (typeof entry !== 'string' || entry === '') {
    return { outcome: 'unreadable', reason: `the Secret has no entry ${KEYRING_ENTRY}` }
  }
  const bytes = Buffer.from(entry, 'base64')
  if (bytes.toString('base64') !== entry) {
    return { outcome: 'unreadable', reason: `the entry ${KEYRING_ENTRY} is not base64` }
  }
  return { outcome: 'read', bytes }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
