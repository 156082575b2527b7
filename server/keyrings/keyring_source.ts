import { KEYRING_ENTRY } from '../../keyring/keyring.ts'
import { isJsonObject, parseStrictJsonBytes } from '../../keyring/strict_parsing.ts'

/** The Secret of one keyring. */
export interface KeyringReference {
  namespace: string
  name: string
}

/** One state of a keyring's Secret: the bytes of its entry, or the reason why there are none. */
export type KeyringReading =
  | { outcome: 'read'; bytes: Buffer }
  | { outcome: 'absent' }
  | { outcome: 'unreadable'; reason: string }

/** The source of keyrings. It watches single Secrets by name, because a server has the right to no others. */
export interface KeyringSource {
  /**
   * Calls `onReading` with the present state and after every change, until the returned function is called. May repeat
   * a reading.
   */
  watch(reference: KeyringReference, onReading: (reading: KeyringReading) => void): () => void
  close(): void
}

/** Reads the keyring's entry of a Secret in JSON. A reason never contains a part of the content. */
export function readSecretManifest(manifest: Uint8Array): KeyringReading {
  let secret: unknown
  try {
    secret = parseStrictJsonBytes(manifest, 16)
  } catch {
    return unreadable('the Secret is not valid JSON')
  }
  if (!isJsonObject(secret) || secret.kind !== 'Secret') return unreadable('it is not a Secret')
  return readEntry(secret.data)
}

/** The keyring's entry in the `data` of a Secret, which is base64. */
export function readEntry(data: unknown): KeyringReading {
  const entry = isJsonObject(data) ? data[KEYRING_ENTRY] : undefined
  if (typeof entry !== 'string' || entry === '') return unreadable(`the Secret has no entry ${KEYRING_ENTRY}`)
  const bytes = Buffer.from(entry, 'base64')
  if (bytes.toString('base64') !== entry) return unreadable(`the entry ${KEYRING_ENTRY} is not base64`)
  return { outcome: 'read', bytes }
}

export function unreadable(reason: string): KeyringReading {
  return { outcome: 'unreadable', reason }
}
