import { statSync } from 'node:fs'
import { relative } from 'node:path'
import type { Held } from '../../operator/source/directory/held_object.ts'
import { readState } from '../../operator/source/directory/state_file.ts'
import { childEnvironment } from '../../process/config.ts'
import type { DevConfig } from '../../process/settings.ts'
import { lockDirectory } from '../../process/directory_lock.ts'
import { createLog } from '../../process/log.ts'
import { handleShutdown } from '../../process/shutdown.ts'
import type { Shutdown } from '../../process/shutdown.ts'
import { isPlainError, PlainError } from '../../process/plain_error.ts'
import { runChild } from './child_process.ts'
import { issueMissingLicenses, keepLicenseKey } from './dev_license.ts'
import { keepPostgres } from './kept_postgres.ts'
import { readableLine } from './log_line.ts'
import { refuseOccupiedPorts } from './ports.ts'
import { readyTable } from './ready_table.ts'
import { stateDirectoryOf } from './state_directory.ts'
import { openStateDirectory } from './state_version.ts'
import { untilReady, untilSettled } from './until_ready.ts'

export interface DevOptions {
  /** The directory of manifests. */
  directory: string
  config: DevConfig
  /** Said below the table: what can be done now. */
  closingWords: (baseUrl: string) => string
  say: (line: string) => void
  now: () => Date
}

const DEADLINE_MILLIS = 20_000
const CHILD_SHUTDOWN_SECONDS = 8
const LICENSE_LOOK_MILLIS = 500

/**
 * Runs PostgreSQL, the operator and the server on one machine until it is told to end. Resolves when all is ready and
 * the table is said; a start that fails ends the process with 1, everything that had started being stopped before.
 */
export async function runDev(options: DevOptions): Promise<void> {
  const { config, say } = options
  const print = (line: string, from: string): void => {
    const readable = readableLine(line, from, config.logLevel)
    if (readable !== undefined) say(readable)
  }
  const log = createLog({ name: 'dev', level: 'warn', destination: { write: (line) => print(line.trimEnd(), 'dev') } })
  const shutdown = handleShutdown({ log, deadlineMillis: DEADLINE_MILLIS, signals: ['SIGTERM', 'SIGINT', 'SIGHUP'] })
  try {
    await start(options, shutdown, print)
  } catch (error) {
    // Ctrl-C while it starts: what then fails, fails because of it.
    if (!shutdown.signal.aborted) {
      if (!isPlainError(error)) throw error
      console.error(`realmkeeper: ${error.message}`)
    }
    await shutdown.begin('the start failed', 1)
  }
}

async function start(
  options: DevOptions,
  shutdown: Shutdown,
  print: (line: string, from: string) => void,
): Promise<void> {
  const { directory, config, say, now } = options
  if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) {
    throw new PlainError(`${directory} is not a directory: give one that holds manifests, or --quickstart`)
  }
  const stateDir = stateDirectoryOf(directory, config.stateDir)
  await openStateDirectory(stateDir)
  shutdown.add('state directory', await lockDirectory(stateDir, { file: 'dev.lock', holder: '"realmkeeper dev"' }))
  await refuseOccupiedPorts(config)

  const began = now().getTime()
  const since = (): string => `${((now().getTime() - began) / 1000).toFixed(1)} s`
  say(`manifests  ${shownPath(directory)}`)
  say(`state      ${shownPath(stateDir)}`)
  const postgres = await keepPostgres(`${stateDir}/postgres`, { say })
  shutdown.add('PostgreSQL', () => postgres.stop())
  say(`PostgreSQL is running on port ${postgres.port} (${since()})`)

  const baseUrl = `http://localhost:${config.listenPort}`
  const licenseKeys = await keepLicenseKey(stateDir)
  const common = ['--base-url', baseUrl, '--listen-host', config.listenHost, '--log-level', config.logLevel]
  common.push('--shutdown-seconds', String(CHILD_SHUTDOWN_SECONDS))
  const run = async (name: 'operator' | 'server', healthPort: number, args: string[]): Promise<void> => {
    const child = runChild({
      name,
      args: [...common, '--health-listen-port', String(healthPort), ...args],
      env: childEnvironment({ REALMKEEPER_DATABASE_URL: postgres.url }),
      onLine: (line) => print(line, name),
      onEnd: (how, waitMillis) => say(`the ${name} ended (${how}); starting it again in ${waitMillis / 1000} s`),
    })
    shutdown.add(name, () => child.stop())
    await untilReady({
      name,
      port: healthPort,
      host: config.listenHost,
      firstEnd: child.firstEnd,
      signal: shutdown.signal,
    })
    child.keep()
    say(`the ${name} is ready (${since()})`)
  }
  // One after the other: a server that starts before the schema is there would say so.
  const reads = ['--dir', directory, '--state-dir', stateDir, '--license-keys', licenseKeys]
  await run('operator', config.operatorHealthPort, reads)
  const serves = ['--listen-port', String(config.listenPort), '--keyring-dir', `${stateDir}/secrets`]
  await run('server', config.healthPort, serves)
  keepLicensed(stateDir, shutdown, say, now)

  const table = await untilSettled(() => readyTable(heldBy(stateDir).values()), shutdown.signal)
  say('')
  for (const line of table) say(line)
  say('')
  say(`Ready at ${baseUrl} (${since()}). Edit the manifests, and what you save is served. Ctrl-C ends it.`)
  say('')
  say(options.closingWords(baseUrl))
}

/** A Realm may refer to a license at any time, so this looks for as long as `dev` runs. */
function keepLicensed(stateDir: string, shutdown: Shutdown, say: (line: string) => void, now: () => Date): void {
  async function look(): Promise<void> {
    for (const line of await issueMissingLicenses(stateDir, heldBy(stateDir), now())) say(line)
  }

  let looking: Promise<void> | undefined
  const timer = setInterval(() => {
    looking ??= look()
      .catch((error: unknown) => say(error instanceof Error ? error.message : String(error)))
      .finally(() => {
        looking = undefined
      })
  }, LICENSE_LOOK_MILLIS)
  shutdown.add('licenses', () => clearInterval(timer))
}

function heldBy(stateDir: string): ReadonlyMap<string, Held> {
  return readState(stateDir)?.held ?? new Map<string, Held>()
}

function shownPath(path: string): string {
  const shown = relative('', path)
  return shown.startsWith('..') ? path : shown || '.'
}
