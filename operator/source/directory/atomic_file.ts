import { chmodSync, closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * Puts a file in the place of another: a reader sees the old or the new one, whole, and after a crash so does the disk.
 * The temporary file lies beside it, hidden, under a name that the next try removes.
 */
export function replaceFile(path: string, content: string | Buffer, { mode }: { mode: number }): void {
  const temporary = join(dirname(path), `.${basename(path)}.realmkeeper.tmp`)
  rmSync(temporary, { force: true })
  const descriptor = openSync(temporary, 'wx', mode)
  try {
    try {
      writeFileSync(descriptor, content)
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    // The umask may have taken bits away.
    chmodSync(temporary, mode)
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
  syncFolder(dirname(path))
}

/** Makes a rename or a removal in a folder durable. */
export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } catch {
    // Some file systems cannot sync a folder; the rename itself is still atomic.
  } finally {
    closeSync(descriptor)
  }
}
