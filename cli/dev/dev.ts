import { statSync } from 'node:fs'
import { createServer } from 'node:net'
import { relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { StoredObject } from '../../operator/source/directory/state/stored_object.ts'
import { readState } from '../../operator/source/directory/state/state_file.ts'
import { childEnvironment } from '../../process/config.ts'
import type { DevConfig } from '../../process/settings.ts'
import { lockDirectory } from '../../process/lock_file.ts'
import { listen } from '../../process/listen.ts'
import { createLog } from '../../process/log.ts'
import { isPlainError, PlainError } from '../../process/plain_error.ts'
import { handleShutdown } from '../../process/shutdown.ts'
import type { Shutdown } from '../../process/shutdown.ts'
import { startChild } from './child_process.ts'
import { createLicenseKey, issueMissingLicenses } from './dev_license.ts'
import { startSupervisedPostgres } from './embedded_postgres.ts'
import { readableLine } from './log_line.ts'
import { readyTable, untilSettled } from './ready_table.ts'
import { repeat } from './repeat.ts'
import { openStateDirectory, stateDirectoryOf } from './state_directory.ts'

export interface DevOptions {
  /** The directory of manifests. */
  directory: string
  config: DevConfig
  /** Printed below the table: what the user can do next. */
  nextSteps: (baseUrl: string) => string
  print: (line: string) => void
  now: () => Date
}

const SHUTDOWN_DEADLINE_MILLIS = 20_000
const CHILD_SHUTDOWN_SECONDS = 8
const LICENSE_CHECK_MILLIS = 500
/** The server of a killed `dev` ends, and frees its ports, three seconds later while connections are idle. */
const PORT_TRIES = 25
const PORT_RETRY_MILLIS = 200

/**
 * Runs PostgreSQL, the operator and the server on one machine until a signal arrives. Resolves when all are ready and
 * the table is printed. A start that fails stops everything that had started and exits with 1.
 */
export async function runDev(options: DevOptions): Promise<void> {
  const { config, print } = options
  const printLog = (line: string, from: string): void => {
    const readable = readableLine(line, from, config.logLevel)
    if (readable !== undefined) print(readable)
  }
  const destination = { write: (line: string) => printLog(line.trimEnd(), 'dev') }
  const log = createLog({ name: 'dev', level: 'warn', destination })
  const signals: NodeJS.Signals[] = ['SIGTERM', 'SIGINT', 'SIGHUP']
  const shutdown = handleShutdown({ log, deadlineMillis: SHUTDOWN_DEADLINE_MILLIS, signals })
  try {
    await start(options, shutdown, printLog)
  } catch (error) {
    // After a signal during the start, further failures are its consequence.
    if (!shutdown.signal.aborted) {
      if (!isPlainError(error)) throw error
      console.error(`realmkeeper: ${error.message}`)
    }
    await shutdown.begin('the start failed', 1)
  }
}

async function start(
  { directory, config, nextSteps, print, now }: DevOptions,
  shutdown: Shutdown,
  printLog: (line: string, from: string) => void,
): Promise<void> {
  if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) {
    throw new PlainError(`${directory} is not a directory: give one that holds manifests, or --quickstart`)
  }
  const stateDir = stateDirectoryOf(directory, config.stateDir)
  await openStateDirectory(stateDir)
  shutdown.add('state directory', await lockDirectory(stateDir, { file: 'dev.lock', holder: '"realmkeeper dev"' }))
  await requireFreePorts(config)

  const began = now().getTime()
  const elapsed = (): string => `${((now().getTime() - began) / 1000).toFixed(1)} s`
  print(`manifests  ${shortPath(directory)}`)
  print(`state      ${shortPath(stateDir)}`)
  const postgres = await startSupervisedPostgres(`${stateDir}/postgres`, { print })
  shutdown.add('PostgreSQL', () => postgres.stop())
  print(`PostgreSQL is running on port ${postgres.port} (${elapsed()})`)

  const baseUrl = `http://localhost:${config.listenPort}`
  const licenseKeys = await createLicenseKey(stateDir)
  const common = ['--base-url', baseUrl, '--listen-host', config.listenHost, '--log-level', config.logLevel]
  common.push('--shutdown-seconds', String(CHILD_SHUTDOWN_SECONDS))
  const run = async (name: 'operator' | 'server', healthPort: number, args: string[]): Promise<void> => {
    const child = startChild({
      name,
      args: [...common, '--health-listen-port', String(healthPort), ...args],
      env: childEnvironment({ REALMKEEPER_DATABASE_URL: postgres.url }),
      host: config.listenHost,
      healthPort,
      onLine: (line) => printLog(line, name),
      onRestart: (ended, wait) => print(`the ${name} ended (${ended}); starting it again in ${wait / 1000} s`),
    })
    shutdown.add(name, () => child.stop())
    await child.untilReady(shutdown.signal)
    print(`the ${name} is ready (${elapsed()})`)
  }
  // The operator first: it migrates the schema, and a server without one would log errors.
  const manifests = ['--dir', directory, '--state-dir', stateDir, '--license-keys', licenseKeys]
  await run('operator', config.operatorHealthPort, manifests)
  const served = ['--listen-port', String(config.listenPort), '--keyring-dir', `${stateDir}/secrets`]
  await run('server', config.healthPort, served)

  async function issueLicenses(): Promise<void> {
    for (const line of await issueMissingLicenses(stateDir, readStored(stateDir), now())) print(line)
  }
  shutdown.add('licenses', repeat(issueLicenses, { millis: LICENSE_CHECK_MILLIS, print }))

  const table = await untilSettled(() => readyTable(readStored(stateDir).values()), shutdown.signal)
  print(['', ...table, ''].join('\n'))
  print(`Ready at ${baseUrl} (${elapsed()}). Changes to the manifests take effect when saved. Ctrl-C ends it.\n`)
  print(nextSteps(baseUrl))
}

/** Checks all ports before anything starts, so that one message names the flag. Throws ListenError. */
async function requireFreePorts({ listenHost: host, ...config }: DevConfig): Promise<void> {
  const ports = [
    { host, port: config.listenPort, flag: '--listen-port' },
    { host, port: config.healthPort, flag: '--health-listen-port' },
    { host, port: config.operatorHealthPort, flag: '--operator-health-listen-port' },
  ]
  for (const at of ports) {
    for (let attempt = 1; ; attempt++) {
      const server = createServer()
      try {
        await listen(server, at)
        await new Promise((resolve) => server.close(resolve))
        break
      } catch (error) {
        if (attempt === PORT_TRIES) throw error
        await sleep(PORT_RETRY_MILLIS)
      }
    }
  }
}

function readStored(stateDir: string): ReadonlyMap<string, StoredObject> {
  return readState(stateDir)?.objects ?? new Map<string, StoredObject>()
}

function shortPath(path: string): string {
  const short = relative('', path)
  return short.startsWith('..') ? path : short || '.'
}
