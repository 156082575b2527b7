import { execFile, spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { PlainError } from '../../process/plain_error.ts'
import { filesOf } from './account_files.ts'
import type { Account, PostgresBinaries } from './postgres_binaries.ts'

/** Runs a program of PostgreSQL. Our environment is not passed on: PGPORT, PGDATA or a locale would change what starts. */
export function runPostgresProgram(
  { directory, account }: PostgresBinaries,
  program: 'initdb' | 'pg_ctl',
  args: string[],
): Promise<{ code: number; output: string }> {
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin' }
  return new Promise((resolve, reject) => {
    execFile(`${directory}/bin/${program}`, args, { ...account, cwd: '/', env }, (error, stdout, stderr) => {
      if (typeof error?.code === 'string') {
        reject(new PlainError(`${program} of the embedded PostgreSQL cannot be run: ${error.message}`))
      } else resolve({ code: error ? (error.code ?? 1) : 0, output: stdout + stderr })
    })
  })
}

/** Stops the PostgreSQL that runs on a data directory; does nothing when none runs. */
export async function stopPostgres(data: string, binaries: PostgresBinaries): Promise<void> {
  const pid = await postmasterPid(data, binaries.account)
  if (pid === undefined) return
  if (!(await isPostgres(pid))) {
    // The machine or container went down. The pid may now be that of another process, which must get no signal.
    await filesOf(binaries.account).remove([`${data}/postmaster.pid`])
    return
  }
  for (const mode of ['fast', 'immediate']) {
    const args = ['stop', `--pgdata=${data}`, `--mode=${mode}`, '--wait', '--timeout=10']
    const { code } = await runPostgresProgram(binaries, 'pg_ctl', args)
    if (code === 0 || (await postmasterPid(data, binaries.account)) === undefined) return
  }
  throw new PlainError(`the PostgreSQL with pid ${pid} on ${data} does not stop: end it, then start again`)
}

/** True while a PostgreSQL runs on a data directory. */
export async function isPostgresRunning(data: string, account: Account | undefined): Promise<boolean> {
  const pid = await postmasterPid(data, account)
  return pid !== undefined && (await isPostgres(pid))
}

async function postmasterPid(data: string, account: Account | undefined): Promise<number | undefined> {
  const text = await filesOf(account).read(`${data}/postmaster.pid`)
  const pid = Number.parseInt(text ?? '', 10)
  return pid > 0 ? pid : undefined
}

// /proc first: small images have no ps.
async function isPostgres(pid: number): Promise<boolean> {
  const commandLine =
    (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined)) ??
    spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout
  return /\bpostgres\b/.test(commandLine)
}
