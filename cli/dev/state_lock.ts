import { open, readFile, rm } from 'node:fs/promises'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { PlainError } from '../plain_error.ts'

/**
 * Takes a state directory for this process: two of them would stop each other's PostgreSQL. What a process left that
 * is no more is taken over. Resolves with what gives it back. Throws PlainError when another process holds it.
 */
export async function lockStateDirectory(path: string): Promise<() => Promise<void>> {
  const file = join(path, 'dev.lock')
  for (let attempt = 1; ; attempt++) {
    try {
      const handle = await open(file, 'wx', 0o600)
      await handle.writeFile(`${process.pid} ${await startOf(process.pid)}\n`)
      await handle.close()
      return () => rm(file, { force: true })
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    }
    const holder = await liveHolder(file)
    if (holder !== undefined || attempt === 3) {
      throw new PlainError(
        `another "realmkeeper dev" (process ${holder ?? 'unknown'}) serves ${path}: end it, or choose another --state-dir`,
      )
    }
    await rm(file, { force: true })
  }
}

async function liveHolder(file: string): Promise<number | undefined> {
  const [pid = '', ...start] = (await readFile(file, 'utf8').catch(() => '')).trim().split(' ')
  if (!/^\d+$/.test(pid)) return undefined
  // In a container the same pid comes back with each start: only together with the start time it names a process.
  const present = await startOf(Number(pid))
  return present !== '' && present === start.join(' ') ? Number(pid) : undefined
}

/** When a process started, as a text that another process of that pid would not have; empty when there is none. */
async function startOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')
  // Field 22; the name in the second may hold spaces and parentheses.
  if (stat !== undefined) return `${boot.trim()}:${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''}`
  return (
    spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' })
      .stdout?.trim()
      .replaceAll(/\s+/g, '_') ?? ''
  )
}
