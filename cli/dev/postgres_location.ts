import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chown, lstat, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isPostgresRunning } from './orphaned_postgres.ts'
import type { Account } from './postgres_binaries.ts'

const ELSEWHERE = '/var/tmp'
const PREFIX = 'realmkeeper-database-'

/**
 * The folder that PostgreSQL writes in (database, log), made if need be. It is `<directory>/cluster`, except where
 * the account that runs PostgreSQL cannot get there (a checkout in root's home, typically): then a folder under
 * /var/tmp, whose name is kept in `<directory>/location`, and which goes when that directory is gone.
 */
export async function postgresLocation(directory: string, account: Account | undefined): Promise<string> {
  const inside = `${directory}/cluster`
  if (!account) {
    await mkdir(inside, { recursive: true, mode: 0o700 })
    return inside
  }
  const kept = await locationKeptIn(directory)
  if (kept !== undefined && existsSync(kept)) return kept

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

async function locationKeptIn(directory: string): Promise<string | undefined> {
  const text = await readFile(`${directory}/location`, 'utf8').catch(() => '')
  return text.trim() || undefined
}

function canReach(directory: string, { uid, gid }: Account): boolean {
  return spawnSync('/bin/sh', ['-c', 'cd "$1"', 'sh', directory], { uid, gid, cwd: '/' }).status === 0
}

/** Databases of state directories that somebody has removed. */
async function removeAbandoned(): Promise<void> {
  const names = (await readdir(ELSEWHERE)).filter((name) => name.startsWith(PREFIX))
  for (const location of names.map((name) => join(ELSEWHERE, name))) {
    // /var/tmp is everybody's: a name means nothing, only what root wrote there does.
    const file = await lstat(`${location}/owner`).catch(() => undefined)
    if (!file?.isFile() || file.uid !== 0) continue
    const owner = (await readFile(`${location}/owner`, 'utf8')).trim()
    if ((await locationKeptIn(owner)) === location || (await isPostgresRunning(`${location}/data`))) continue
    await rm(location, { recursive: true, force: true })
  }
}
