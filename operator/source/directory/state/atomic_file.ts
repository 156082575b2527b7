import { chmodSync, closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * Replaces a file atomically and durably: a reader, also after a crash, finds the old or the new content. The temporary
 * file is hidden in the same folder, and the next call removes one that a crash left.
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
    // The umask may have cleared bits.
    chmodSync(temporary, mode)
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
  syncFolder(dirname(path))
}

/** Makes renames and removals in a folder durable. */
export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } catch {
    // Some file systems cannot sync a folder. A rename is atomic anyway.
  } finally {
    closeSync(descriptor)
  }
}
