import { readFile, stat } from 'node:fs/promises'
import { MAX_KEYRING_BYTES } from '../../keyring/keyring.ts'
import { errorCode } from '../../process/loggable.ts'
import { readSecretManifest, unreadable } from './keyring_source.ts'
import type { KeyringReading, KeyringReference, KeyringSource } from './keyring_source.ts'

/** A check reads the state of each file and nothing else. */
const POLL_MILLIS = 200
/** base64 enlarges the keyring, and the manifest has other members. */
const MAX_MANIFEST_BYTES = 2 * MAX_KEYRING_BYTES
const KUBERNETES_NAME = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/

interface WatchedFile {
  path: string
  onReading: (reading: KeyringReading) => void
  /** Identifies the state of the file at the last read. */
  state: string | undefined
  isReading: boolean
}

/**
 * Keyrings as Secret manifests in `<directory>/<namespace>/<name>.json`. Polls the files, because some file systems send
 * no notifications.
 */
export function directoryKeyrings(directory: string): KeyringSource {
  const files = new Set<WatchedFile>()

  async function check(file: WatchedFile): Promise<void> {
    if (file.isReading) return
    file.isReading = true
    const { state, reading } = await readIfChanged(file.path, file.state)
    file.state = state
    file.isReading = false
    if (reading && files.has(file)) file.onReading(reading)
  }

  const poll = setInterval(() => {
    for (const file of files) void check(file)
  }, POLL_MILLIS)

  return {
    watch(reference, onReading) {
      const path = pathOf(directory, reference)
      if (path === undefined) {
        onReading(unreadable('its name is not a valid name of a Secret'))
        return () => {}
      }
      const file: WatchedFile = { path, onReading, state: undefined, isReading: false }
      files.add(file)
      void check(file)
      return () => void files.delete(file)
    },
    close() {
      clearInterval(poll)
      files.clear()
    },
  }
}

/** Undefined for names that could leave the directory: both come from rows. */
function pathOf(directory: string, { namespace, name }: KeyringReference): string | undefined {
  if (![namespace, name].every((part) => KUBERNETES_NAME.test(part) && !part.includes('..'))) return undefined
  return `${directory}/${namespace}/${name}.json`
}

/** Reads a file that is not in the state `before`. Resolves without a reading when it is. */
async function readIfChanged(
  path: string,
  before: string | undefined,
): Promise<{ state: string; reading?: KeyringReading }> {
  try {
    const { mtimeMs, size, ino } = await stat(path)
    const state = `${mtimeMs} ${size} ${ino}`
    if (state === before) return { state }
    if (size > MAX_MANIFEST_BYTES) return { state, reading: unreadable('the file is too large') }
    return { state, reading: readSecretManifest(await readFile(path)) }
  } catch (error) {
    const code = errorCode(error)
    const isAbsent = code === 'ENOENT' || code === 'ENOTDIR'
    const state = isAbsent ? 'absent' : code
    if (state === before) return { state }
    return { state, reading: isAbsent ? { outcome: 'absent' } : unreadable(code) }
  }
}
