import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { tryLock } from './lock_file.ts'
import { PlainError } from './plain_error.ts'

/** Another process uses a directory; the message names it. */
export class DirectoryLocked extends PlainError {
  override readonly name = 'DirectoryLocked'
}

/**
 * Reserves a directory for this process, and creates it if missing. Resolves with the function that releases it. Throws
 * DirectoryLocked when another process uses it.
 * @param as the name of the lock file, and what the message calls the other process
 */
export async function lockDirectory(path: string, as: { file: string; holder: string }): Promise<() => Promise<void>> {
  await mkdir(path, { recursive: true, mode: 0o700 })
  const lock = await tryLock(join(path, as.file))
  if (lock.release) return lock.release
  const other = `another ${as.holder} (process ${lock.holder ?? 'unknown'})`
  throw new DirectoryLocked(`${other} uses ${path}: end it, or choose another --state-dir`)
}
