import { spawnSync } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { EmbeddedPostgresError } from './embedded_postgres_error.ts'

type PgCtl = (args: string[]) => Promise<{ code: number; output: string }>

/**
 * Stops the PostgreSQL that runs on a data directory: ours, or one that outlived a process that was killed.
 * Nothing running is success.
 */
export async function stopOrphanedPostgres(data: string, pgCtl: PgCtl): Promise<void> {
  const pid = await postmasterPid(data)
  if (pid === undefined) return
  if (!(await isPostgres(pid))) {
    // Left by a machine or container that went down; the pid may by now be any process of ours, which must
    // not be sent a signal.
    await rm(`${data}/postmaster.pid`, { force: true })
    return
  }
  for (const mode of ['fast', 'immediate']) {
    const { code } = await pgCtl(['stop', `--pgdata=${data}`, `--mode=${mode}`, '--wait', '--timeout=10'])
    if (code === 0 || (await postmasterPid(data)) === undefined) return
  }
  throw new EmbeddedPostgresError(`the PostgreSQL with pid ${pid} on ${data} does not stop: end it, then start again`)
}

/** True while a PostgreSQL runs on a data directory. */
export async function isPostgresRunning(data: string): Promise<boolean> {
  const pid = await postmasterPid(data)
  return pid !== undefined && (await isPostgres(pid))
}

async function postmasterPid(data: string): Promise<number | undefined> {
  const text = await readFile(`${data}/postmaster.pid`, 'utf8').catch(() => '')
  const pid = Number.parseInt(text, 10)
  return pid > 0 ? pid : undefined
}

// /proc where there is one: small images come without ps.
async function isPostgres(pid: number): Promise<boolean> {
  const commandLine =
    (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined)) ??
    spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout
  return /\bpostgres\b/.test(commandLine)
}
