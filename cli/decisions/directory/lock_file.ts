import { lstat, mkdir } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { digestOf } from '../../../process/canonical_json.ts'
import { tryLock } from '../../../process/lock_file.ts'
import { PlainError } from '../../../process/plain_error.ts'

const WAIT_MILLIS = 20
const MAX_WAIT_MILLIS = 10_000

/**
 * Runs something while no other process of this user changes the same file, so that two decisions at the same time do
 * not overwrite each other. The lock is a temporary file, because the directory of the file is watched. Throws
 * PlainError when it waits too long.
 * @param file its real path, without symbolic links
 * @param options.shared where the folder of locks is created; the home folder when another user took its name there
 */
export async function withFileLocked<Result>(
  file: string,
  run: () => Promise<Result>,
  { shared = tmpdir(), maxWaitMillis = MAX_WAIT_MILLIS } = {},
): Promise<Result> {
  const path = join(await ownFolder(shared), `${digestOf(file).slice(0, 32)}.lock`)
  const start = performance.now()
  for (;;) {
    const lock = await tryLock(path)
    if (lock.release) {
      try {
        return await run()
      } finally {
        await lock.release()
      }
    }
    if (performance.now() - start > maxWaitMillis) {
      const holder = `another command (process ${lock.holder ?? 'unknown'})`
      throw new PlainError(`${file} is being changed by ${holder}; if none runs, remove ${path}`)
    }
    await sleep(WAIT_MILLIS)
  }
}

/** A folder that no other user can write in: any user may create a lock in a shared folder, and never release it. */
async function ownFolder(shared: string): Promise<string> {
  const uid = process.geteuid?.()
  for (const folder of [join(shared, `realmkeeper-locks-${uid ?? 'user'}`), join(homedir(), '.realmkeeper-locks')]) {
    await mkdir(folder, { mode: 0o700 }).catch(() => undefined)
    const found = await lstat(folder).catch(() => undefined)
    if (found?.isDirectory() && (uid === undefined || (found.uid === uid && (found.mode & 0o022) === 0))) return folder
  }
  throw new PlainError(
    `neither ${shared} nor the home folder holds a folder for locks that only this user can write in`,
  )
}
