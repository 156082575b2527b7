import { execFile } from 'node:child_process'
import { readFile, rename, rm } from 'node:fs/promises'
import { PlainError } from '../../process/plain_error.ts'
import type { Account } from './postgres_binaries.ts'

/** Files in the folder that PostgreSQL writes in. */
export interface AccountFiles {
  /** Undefined when there is none, or it cannot be read. */
  read(path: string): Promise<string | undefined>
  /** With everything below them; missing ones are no error. Throws PlainError. */
  remove(paths: string[]): Promise<void>
  /** Throws PlainError. */
  rename(from: string, to: string): Promise<void>
}

const DIRECTLY: AccountFiles = {
  read: (path) => readFile(path, 'utf8').catch(() => undefined),
  async remove(paths) {
    for (const path of paths) await rm(path, { recursive: true, force: true })
  },
  rename,
}

/**
 * For root, every operation runs as the account that owns the folder: with the rights of root, a symbolic link which that
 * account puts in place of a path between two operations would lead to the files of others.
 */
export function filesOf(account: Account | undefined): AccountFiles {
  if (!account) return DIRECTLY

  function run(program: string, args: string[]): Promise<string> {
    const options = { ...account, cwd: '/', env: { PATH: '/usr/local/bin:/usr/bin:/bin' } }
    return new Promise((resolve, reject) => {
      execFile(program, args, options, (error, stdout, stderr) => {
        if (error) reject(new PlainError(`${program} in the folder of PostgreSQL: ${stderr.trim() || error.message}`))
        else resolve(stdout)
      })
    })
  }

  return {
    read: (path) => run('cat', ['--', path]).catch(() => undefined),
    remove: async (paths) => void (await run('rm', ['-rf', '--', ...paths])),
    rename: async (from, to) => void (await run('mv', ['--', from, to])),
  }
}
