import { createHash } from 'node:crypto'
import { closeSync, openSync, readFileSync, realpathSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { errorCode } from '../../operator/source/directory/error_code.ts'
import { DecisionError } from './decision_error.ts'

const WAIT_MILLISECONDS = 20
const MAX_WAITS = 500

/**
 * Runs something while no other process of this user changes the same file, so that two decisions made at once do not
 * lose each other. The lock lies among the temporary files, not in the watched directory.
 */
export async function withFileLocked<Result>(file: string, run: () => Promise<Result>): Promise<Result> {
  const digest = createHash('sha256').update(realpathSync(file)).digest('hex').slice(0, 32)
  const lock = join(tmpdir(), `realmkeeper-${process.getuid?.() ?? 'user'}-${digest}.lock`)
  for (let waits = 0; !taken(lock); waits++) {
    if (waits === MAX_WAITS)
      throw new DecisionError(`${file} is being changed by another command; if none runs, remove ${lock}`)
    await new Promise((resolve) => setTimeout(resolve, WAIT_MILLISECONDS))
  }
  try {
    return await run()
  } finally {
    rmSync(lock, { force: true })
  }
}

function taken(lock: string): boolean {
  try {
    const descriptor = openSync(lock, 'wx', 0o600)
    writeSync(descriptor, String(process.pid))
    closeSync(descriptor)
    return true
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
  }
  if (isAbandoned(lock)) rmSync(lock, { force: true })
  return false
}

/** Left by a process that was killed. An empty one is just being written. */
function isAbandoned(lock: string): boolean {
  try {
    const pid = Number(readFileSync(lock, 'utf8'))
    if (!Number.isInteger(pid) || pid <= 0) return false
    process.kill(pid, 0)
    return false
  } catch (error) {
    return errorCode(error) === 'ESRCH'
  }
}
