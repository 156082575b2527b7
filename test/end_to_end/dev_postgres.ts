import { spawn } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import pg from 'pg'
import { findPostgresBinaries } from '../../cli/dev/postgres_binaries.ts'
import { recordSecrets } from '../support/canary.ts'
import { processes } from '../support/processes.ts'

/** The embedded PostgreSQL of a `dev` process, for queries and faults from outside. */
export interface DevPostgres {
  url(): string
  /** Its log since `dev` last started it. */
  logFile(): string
  /** The postmaster and every backend. */
  pids(): number[]
  killBackends(): Promise<void>
  /** Immediate shutdown (SIGQUIT). */
  stop(): Promise<void>
  /** On the same port as before. */
  start(): Promise<void>
}

export function devPostgres(stateDir: string): DevPostgres {
  // As root, the database may be elsewhere; the file `location` names the folder.
  const data = (): string => {
    const files = readdirSync(stateDir, { recursive: true }).map(String)
    const location = files.find((file) => file.endsWith('/location'))
    if (location) return `${readFileSync(`${stateDir}/${location}`, 'utf8').trim()}/cluster/data`
    return `${stateDir}/${files.find((file) => file.endsWith('cluster/data'))}`
  }
  const options = (): string[] =>
    [...readFileSync(`${data()}/postmaster.opts`, 'utf8').matchAll(/"([^"]*)"/g)].map(([, option = '']) => option)
  const postmaster = (): number => Number(readFileSync(`${data()}/postmaster.pid`, 'utf8').split('\n')[0])

  const url = (): string => {
    const files = readdirSync(stateDir, { recursive: true }).map(String)
    const password = readFileSync(`${stateDir}/${files.find((file) => file.endsWith('/password'))}`, 'utf8').trim()
    recordSecrets(password)
    const port = options()
      .find((option) => option.startsWith('port='))
      ?.slice('port='.length)
    return `postgres://realmkeeper:${password}@127.0.0.1:${port}/postgres`
  }

  return {
    url,
    logFile: () => `${data().replace(/data$/, '')}log`,
    pids: () => [
      postmaster(),
      ...processes()
        .filter(({ parent }) => parent === postmaster())
        .map(({ pid }) => pid),
    ],
    async killBackends() {
      const client = new pg.Client({ connectionString: url() })
      await client.connect()
      await client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where pid <> pg_backend_pid() and backend_type = 'client backend'`,
      )
      await client.end()
    },
    async stop() {
      const pid = postmaster()
      process.kill(pid, 'SIGQUIT')
      while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 20))
    },
    async start() {
      const binaries = await findPostgresBinaries()
      if (!binaries) throw new Error('no embedded PostgreSQL is installed')
      const child = spawn(`${binaries.directory}/bin/postgres`, options(), {
        ...binaries.account,
        cwd: '/',
        env: { PATH: '/usr/bin:/bin' },
        detached: true,
        stdio: 'ignore',
      })
      child.unref()
    },
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
