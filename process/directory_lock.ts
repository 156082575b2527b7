import { spawnSync } from 'node:child_process'
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { PlainError } from './plain_error.ts'

/** Another process holds a directory. The message says which one. */
export class DirectoryLocked extends PlainError {
  override readonly name = 'DirectoryLocked'
}

const WRITING_MILLIS = 20
const MOST_TRIES = 50

/**
 * Takes a directory for this process, and makes it where there is none. What a process left that is no more is taken
 * over. Resolves with what gives it back. Throws DirectoryLocked when another process holds it.
 * @param as the name of the file that says so, and what the holder is called
 */
export async function lockDirectory(path: string, as: { file: string; holder: string }): Promise<() => Promise<void>> {
  const file = join(path, as.file)
  await mkdir(path, { recursive: true, mode: 0o700 })
  const own = `${process.pid} ${await startOf(process.pid)}\n`
  for (let tries = 1; ; tries++) {
    if (await create(file, own)) return once(() => rm(file, { force: true }))
    const found = await readFile(file, 'utf8').catch(() => '')
    const holder = await liveHolder(found)
    if (holder !== undefined || tries > MOST_TRIES) {
      const who = `another ${as.holder} (process ${holder ?? 'unknown'})`
      throw new DirectoryLocked(`${who} uses ${path}: end it, or choose another --state-dir`)
    }
    // Somebody may be about to write it.
    if (found === '' && tries < MOST_TRIES) await sleep(WRITING_MILLIS)
    else await removeLeftover(file, found)
  }
}

/** Given back twice, it may be another one's by then. */
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
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}

/** Of two that find the same leftover, the second must not remove what the first has put in its place. */
async function removeLeftover(file: string, found: string): Promise<void> {
  const aside = `${file}.${process.pid}`
  await rename(file, aside).catch(() => undefined)
  const moved = await readFile(aside, 'utf8').catch(() => found)
  if (moved === found) await rm(aside, { force: true })
  else await rename(aside, file)
}

async function liveHolder(text: string): Promise<number | undefined> {
  const [pid = '', ...start] = text.trim().split(' ')
  if (!/^\d+$/.test(pid)) return undefined
  // In a container the same pid comes back with each start: only together with the start time it names a process.
  const present = await startOf(Number(pid))
  return present !== '' && present === start.join(' ') ? Number(pid) : undefined
}

/** When a process started, as a text that another process of that pid would not have; empty when there is none. */
async function startOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')
  if (stat !== undefined) {
    // Fields 3 and 22; the name in the second may hold spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // One that has ended stays as a zombie while whoever adopted it does not ask how.
    return fields[0] === 'Z' ? '' : `${boot.trim()}:${fields[19] ?? ''}`
  }
  return (
    spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' })
      .stdout?.trim()
      .replaceAll(/\s+/g, '_') ?? ''
  )
}
