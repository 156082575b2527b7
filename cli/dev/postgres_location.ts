import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chown, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import type { Account } from './postgres_binaries.ts'

/**
 * The folder that PostgreSQL writes in (database, log), made if need be. It is `<directory>/cluster`, except where
 * the account that runs PostgreSQL cannot get there (a checkout in root's home, typically): then a folder under
 * /var/tmp, whose name is kept in `<directory>/location`.
 */
export async function postgresLocation(directory: string, account: Account | undefined): Promise<string> {
  const inside = `${directory}/cluster`
  if (!account) {
    await mkdir(inside, { recursive: true, mode: 0o700 })
    return inside
  }
  const kept = (await readFile(`${directory}/location`, 'utf8').catch(() => '')).trim()
  if (kept && existsSync(kept)) return kept

  await mkdir(directory, { recursive: true })
  const location = canReach(directory, account) ? inside : await mkdtemp('/var/tmp/realmkeeper-database-')
  await mkdir(location, { recursive: true, mode: 0o700 })
  await chown(location, account.uid, account.gid)
  if (location !== inside) await writeFile(`${directory}/location`, `${location}\n`, { mode: 0o600 })
  return location
}

function canReach(directory: string, { uid, gid }: Account): boolean {
  return spawnSync('/bin/sh', ['-c', 'cd "$1"', 'sh', directory], { uid, gid, cwd: '/' }).status === 0
}
