/** Where one keyring's Secret is. */
export interface KeyringReference {
  namespace: string
  name: string
}

/** A keyring's Secret as it is at a moment: the bytes of its one entry, or why there are none. */
export type KeyringReading =
  | { outcome: 'read'; bytes: Buffer }
  | { outcome: 'absent' }
  | { outcome: 'unreadable'; reason: string }

/**
 * Where keyrings come from. Shaped for the right that a server has in a cluster: to watch Secrets one by one, by name.
 * It reads, and nothing else.
 */
export interface KeyringSource {
  /**
   * Calls `onReading` with what is there now, and again after every change, until the returned function is called.
   * A reading that equals the one before may be told again.
   */
  watch(reference: KeyringReference, onReading: (reading: KeyringReading) => void): () => void
  close(): void
}
