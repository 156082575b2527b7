import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync, renameSync, rmSync } from 'node:fs'
import { mkdir, open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { PlainError } from './plain_error.ts'
import { errorCode } from './loggable.ts'

const WRITE_MILLIS = 20
const MAX_TRIES = 50

/** `release` when the lock was free, else the pid of the process that holds it, if known. */
export type LockResult = { release: () => Promise<void> } | { release?: undefined; holder: number | undefined }

/**
 * Takes a lock file for this process, if it is free; a lock of a process that has ended is free. The file holds the pid
 * and the start time of its process, so that no heartbeat is needed and a process that has the same pid later does not
 * count, and a unique text, so that a process tells its own lock from every other one.
 */
export async function tryLock(file: string): Promise<LockResult> {
  const own = `${process.pid} ${await startTimeOf(process.pid)} ${randomUUID()}\n`
  for (let tries = 1; ; tries++) {
    if ((await create(file, own)) && (await remains(file, own))) {
      return { release: once(() => rm(file, { force: true })) }
    }
    const found = await readFile(file, 'utf8').catch(() => '')
    const holder = await liveHolder(found)
    if (holder !== undefined || tries > MAX_TRIES) return { holder }
    // Another process may be about to write its pid.
    if (found === '' && tries < MAX_TRIES) await sleep(WRITE_MILLIS)
    else removeLeftover(file, found)
  }
}

/**
 * Reserves a directory for this process, and creates it if missing. Resolves with the function that releases it. Throws
 * PlainError, which names the other process, when another process uses it.
 * @param as the name of the lock file, and what the message calls the other process
 */
export async function lockDirectory(path: string, as: { file: string; holder: string }): Promise<() => Promise<void>> {
  await mkdir(path, { recursive: true, mode: 0o700 })
  const lock = await tryLock(join(path, as.file))
  if (lock.release) return lock.release
  const other = `another ${as.holder} (process ${lock.holder ?? 'unknown'})`
  throw new PlainError(`${other} uses ${path}: end it, or choose another --state-dir`)
}

/** After the first release the lock may belong to another process. */
function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => (done ??= work())
}

async function create(file: string, text: string): Promise<boolean> {
  try {
    const handle = await open(file, 'wx', 0o600)
    await handle.writeFile(text)
    await handle.close()
    return true
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false
    throw error
  }
}

/** Whether the lock is still this one after the time that `removeLeftover` of another process takes. */
async function remains(file: string, own: string): Promise<boolean> {
  await sleep(WRITE_MILLIS)
  return (await readFile(file, 'utf8').catch(() => '')) === own
}

/**
 * Two processes may find the same leftover, and the second moves the lock that the first has written since. It puts
 * that lock back at once, over the lock of a third process that found none meanwhile; `remains` tells the third one.
 */
function removeLeftover(file: string, found: string): void {
  const aside = `${file}.${process.pid}`
  try {
    renameSync(file, aside)
  } catch {
    return
  }
  if (readFileSync(aside, 'utf8') === found) rmSync(aside)
  else renameSync(aside, file)
}

async function liveHolder(text: string): Promise<number | undefined> {
  const [pid = '', start] = text.trim().split(' ')
  if (!/^\d+$/.test(pid)) return undefined
  const current = await startTimeOf(Number(pid))
  return current !== '' && current === start ? Number(pid) : undefined
}

/** The boot and the start time of a running process, as a text; empty when there is none. Containers reuse pids. */
async function startTimeOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')
  if (stat !== undefined) {
    // Fields 3 (state) and 22 (start time); the name in field 2 may hold spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // A zombie has ended; its parent has not read the exit code yet.
    return fields[0] === 'Z' ? '' : `${boot.trim()}:${fields[19] ?? ''}`
  }
  const { stdout } = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' })
  return stdout?.trim().replaceAll(/\s+/g, '_') ?? ''
}
