import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { digestOf } from '../../../process/canonical_json.ts'
import { tryLock } from '../../../process/lock_file.ts'
import { PlainError } from '../../../process/plain_error.ts'

const WAIT_MILLIS = 20
const MAX_WAITS = 500

/**
 * Runs something while no other process of this user changes the same file, so that two decisions at the same time do
 * not overwrite each other. The lock is a temporary file, because the directory of the file is watched. Throws
 * PlainError when it waits too long.
 * @param file its real path, without symbolic links
 */
export async function withFileLocked<Result>(file: string, run: () => Promise<Result>): Promise<Result> {
  const path = join(tmpdir(), `realmkeeper-${process.getuid?.() ?? 'user'}-${digestOf(file).slice(0, 32)}.lock`)
  for (let waits = 0; ; waits++) {
    const lock = await tryLock(path)
    if (lock.release) {
      try {
        return await run()
      } finally {
        await lock.release()
      }
    }
    if (waits === MAX_WAITS) throw new PlainError(`${file} is being changed by process ${lock.holder}: try again later`)
    await sleep(WAIT_MILLIS)
  }
}
