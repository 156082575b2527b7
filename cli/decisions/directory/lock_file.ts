import { tmpdir } from 'node:os'
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
 */
export async function withFileLocked<Result>(
  file: string,
  run: () => Promise<Result>,
  { folder = tmpdir(), maxWaitMillis = MAX_WAIT_MILLIS } = {},
): Promise<Result> {
  const path = join(folder, `realmkeeper-${process.getuid?.() ?? 'user'}-${digestOf(file).slice(0, 32)}.lock`)
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
