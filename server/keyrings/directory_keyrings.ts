import { watch } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { MAX_KEYRING_BYTES } from '../../keyring/keyring.ts'
import type { KeyringReading, KeyringReference, KeyringSource } from './keyring_source.ts'
import { readSecretManifest } from './secret_manifest.ts'

const POLL_MILLIS = 500
/** base64, and the rest of the manifest. */
const MAX_MANIFEST_BYTES = 2 * MAX_KEYRING_BYTES
const KUBERNETES_NAME = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/

interface Watched {
  file: string
  onReading: (reading: KeyringReading) => void
  /** What the file looked like when it was read last. */
  seen: string | undefined
  isReading: boolean
  /** Told to look while it was being read. */
  isDue: boolean
}

/**
 * Keyrings as Secret manifests in `<directory>/<namespace>/<name>.json`. Files are looked at twice a second; being told
 * by the system only makes it quicker, because it goes deaf in some file systems.
 */
export function directoryKeyrings(directory: string): KeyringSource {
  const watched = new Set<Watched>()
  const folders = new Map<string, FSWatcher>()

  async function look(one: Watched): Promise<void> {
    one.isDue = true
    if (one.isReading) return
    one.isReading = true
    while (one.isDue) {
      one.isDue = false
      const { seen, reading } = await readIfChanged(one.file, one.seen)
      one.seen = seen
      if (reading && watched.has(one)) one.onReading(reading)
    }
    one.isReading = false
  }

  function lookAtAll(): void {
    for (const one of watched) void look(one)
  }

  function watchFolder(folder: string): void {
    if (folders.has(folder)) return
    try {
      const watcher = watch(folder, { persistent: false }, lookAtAll)
      const forget = (): void => {
        watcher.close()
        folders.delete(folder)
      }
      watcher.on('error', forget)
      folders.set(folder, watcher)
    } catch {
      // It is not there yet; the poll finds the file when it is.
    }
  }

  const poll = setInterval(() => {
    for (const { file } of watched) watchFolder(folderOf(file))
    lookAtAll()
  }, POLL_MILLIS)

  return {
    watch(reference, onReading) {
      const file = fileOf(directory, reference)
      if (file === undefined) {
        onReading({ outcome: 'unreadable', reason: 'its name is not that of a Secret' })
        return () => {}
      }
      const one: Watched = { file, onReading, seen: undefined, isReading: false, isDue: false }
      watched.add(one)
      watchFolder(folderOf(one.file))
      void look(one)
      return () => void watched.delete(one)
    },
    close() {
      clearInterval(poll)
      watched.clear()
      for (const watcher of folders.values()) watcher.close()
      folders.clear()
    },
  }
}

/** Both parts come from rows, and nothing but a name may become a path. */
function fileOf(directory: string, { namespace, name }: KeyringReference): string | undefined {
  if (![namespace, name].every((part) => KUBERNETES_NAME.test(part) && !part.includes('..'))) return undefined
  return `${directory}/${namespace}/${name}.json`
}

function folderOf(file: string): string {
  return file.slice(0, file.lastIndexOf('/'))
}

const ABSENT = 'absent'

async function readIfChanged(
  file: string,
  before: string | undefined,
): Promise<{ seen: string; reading?: KeyringReading }> {
  try {
    const { mtimeMs, size, ino } = await stat(file)
    const seen = `${mtimeMs} ${size} ${ino}`
    if (seen === before) return { seen }
    if (size > MAX_MANIFEST_BYTES) return { seen, reading: { outcome: 'unreadable', reason: 'the file is too large' } }
    return { seen, reading: readSecretManifest(await readFile(file)) }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      return before === ABSENT ? { seen: ABSENT } : { seen: ABSENT, reading: { outcome: 'absent' } }
    }
    return before === code ? { seen: code } : { seen: code, reading: { outcome: 'unreadable', reason: code } }
  }
}
