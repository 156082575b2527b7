import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chown, lstat, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Account } from './postgres_binaries.ts'
import { isPostgresRunning } from './postgres_process.ts'

const ELSEWHERE = '/var/tmp'
const PREFIX = 'realmkeeper-database-'

/**
 * The folder that PostgreSQL writes in (database, log), created if missing. It is `<directory>/cluster`, unless the
 * account that runs PostgreSQL cannot reach that, for example a checkout in the home of root. Then it is a folder under
 * /var/tmp, whose name is stored in `<directory>/location`; it is removed after that directory was removed.
 */
export async function postgresLocation(directory: string, account: Account | undefined): Promise<string> {
  const inside = `${directory}/cluster`
  if (!account) {
    await mkdir(inside, { recursive: true, mode: 0o700 })
    return inside
  }
  const stored = await storedLocation(directory)
  if (stored !== undefined && existsSync(stored)) return stored

  await mkdir(directory, { recursive: true })
  if (canReach(directory, account)) {
    await mkdir(inside, { recursive: true, mode: 0o700 })
    await chown(inside, account.uid, account.gid)
    return inside
  }
  await removeAbandoned()
  const elsewhere = await mkdtemp(join(ELSEWHERE, PREFIX))
  await writeFile(`${elsewhere}/owner`, `${directory}\n`, { mode: 0o600 })
  await chown(elsewhere, account.uid, account.gid)
  await writeFile(`${directory}/location`, `${elsewhere}\n`, { mode: 0o600 })
  return elsewhere
}

/** That folder for a directory that was used before; creates nothing. */
export async function knownPostgresLocation(directory: string): Promise<string> {
  return (await storedLocation(directory)) ?? `${directory}/cluster`
}

async function storedLocation(directory: string): Promise<string | undefined> {
  const text = await readFile(`${directory}/location`, 'utf8').catch(() => '')
  return text.trim() || undefined
}

function canReach(directory: string, { uid, gid }: Account): boolean {
  return spawnSync('/bin/sh', ['-c', 'cd "$1"', 'sh', directory], { uid, gid, cwd: '/' }).status === 0
}

/** Removes the databases of state directories that no longer exist. */
async function removeAbandoned(): Promise<void> {
  const names = (await readdir(ELSEWHERE)).filter((name) => name.startsWith(PREFIX))
  for (const location of names.map((name) => join(ELSEWHERE, name))) {
    // Any user may write to /var/tmp: only a file that root wrote counts.
    const file = await lstat(`${location}/owner`).catch(() => undefined)
    if (!file?.isFile() || file.uid !== 0) continue
    const owner = (await readFile(`${location}/owner`, 'utf8')).trim()
    if ((await storedLocation(owner)) === location || (await isPostgresRunning(`${location}/data`))) continue
    await rm(location, { recursive: true, force: true })
  }
}
