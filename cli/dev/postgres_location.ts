import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, chown, lstat, mkdir, mkdtemp, readdir, readFile, rmdir, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from '../../process/loggable.ts'
import { filesOf } from './account_files.ts'
import type { Account } from './postgres_binaries.ts'
import { isPostgresRunning } from './postgres_process.ts'

const ELSEWHERE = '/var/tmp'
const PREFIX = 'realmkeeper-database-'

/**
 * The folder that PostgreSQL writes in (database, log), created if missing. It is `<directory>/cluster`, unless the
 * account that runs PostgreSQL cannot reach that, for example a checkout in the home of root. Then it is `cluster` in a
 * folder under /var/tmp, whose name is stored in `<directory>/location`; it is removed after that directory was removed.
 * The folder around `cluster` belongs to this user, who is root where there is an account.
 */
export async function postgresLocation(directory: string, account: Account | undefined): Promise<string> {
  const inside = `${directory}/cluster`
  if (!account) {
    await mkdir(inside, { recursive: true, mode: 0o700 })
    return inside
  }
  const stored = await storedLocation(directory)
  if (stored !== undefined && existsSync(`${stored}/cluster`)) return `${stored}/cluster`

  await mkdir(directory, { recursive: true })
  if (canReach(directory, account)) return handOver(inside, account)
  await removeAbandoned(account)
  const elsewhere = await mkdtemp(join(ELSEWHERE, PREFIX))
  await chmod(elsewhere, 0o711)
  const cluster = await handOver(`${elsewhere}/cluster`, account)
  await writeFile(`${directory}/location`, `${elsewhere}\n`, { mode: 0o600 })
  // Last: another process that starts now would remove a folder whose owner does not use it.
  await writeFile(`${elsewhere}/owner`, `${directory}\n`, { mode: 0o600 })
  return cluster
}

/** Creates a folder for the account, in one that only root can write in. */
async function handOver(cluster: string, { uid, gid }: Account): Promise<string> {
  await mkdir(cluster, { recursive: true, mode: 0o700 })
  await chown(cluster, uid, gid)
  return cluster
}

/** That folder for a directory that was used before; creates nothing. */
export async function knownPostgresLocation(directory: string): Promise<string> {
  return `${(await storedLocation(directory)) ?? directory}/cluster`
}

async function storedLocation(directory: string): Promise<string | undefined> {
  const text = await readFile(`${directory}/location`, 'utf8').catch(() => '')
  return text.trim() || undefined
}

function canReach(directory: string, { uid, gid }: Account): boolean {
  return spawnSync('/bin/sh', ['-c', 'cd "$1"', 'sh', directory], { uid, gid, cwd: '/' }).status === 0
}

/** Removes the databases of state directories that no longer exist. */
async function removeAbandoned(account: Account): Promise<void> {
  const names = (await readdir(ELSEWHERE)).filter((name) => name.startsWith(PREFIX))
  for (const location of names.map((name) => join(ELSEWHERE, name))) {
    // Any user may write to /var/tmp: only a folder that root made counts, which no other user can change.
    const folder = await lstat(location).catch(() => undefined)
    if (!folder?.isDirectory() || folder.uid !== 0 || (folder.mode & 0o022) !== 0) continue
    const owner = (await readFile(`${location}/owner`, 'utf8').catch(() => '')).trim()
    const cluster = `${location}/cluster`
    const isUsed = owner === '' || (await storedLocation(owner)) === location
    if (isUsed || (await isPostgresRunning(`${cluster}/data`, account))) continue
    await filesOf(account).remove([`${cluster}/data`, `${cluster}/data.new`, `${cluster}/log`])
    // An earlier removal may have been interrupted, and another process may remove the same folder.
    await rmdir(cluster).catch(ignoreMissing)
    await unlink(`${location}/owner`).catch(ignoreMissing)
    await rmdir(location).catch(ignoreMissing)
  }
}

function ignoreMissing(error: unknown): void {
  if (errorCode(error) !== 'ENOENT') throw error
}
