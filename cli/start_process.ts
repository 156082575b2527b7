import { createLog } from '../process/log.ts'
import type { Logger } from '../process/log.ts'
import { isPlainError } from '../process/plain_error.ts'
import type { OperatorConfig } from '../process/settings.ts'
import { handleShutdown } from '../process/shutdown.ts'

/** What a process receives in addition to its configuration. */
export interface Surroundings {
  log: Logger
  now: () => Date
}

export interface Running {
  stop(): Promise<void>
  /** Resolves when the process cannot continue. */
  failed?: Promise<Error>
}

/** Time to close connections after requests in progress were cut off. */
const CLOSING_MILLIS = 3_000

/** Starts the operator or the server, and stops it on SIGTERM. A start that fails is logged and exits with 1. */
export async function startProcess(
  name: string,
  { logLevel, shutdownSeconds }: Pick<OperatorConfig, 'logLevel' | 'shutdownSeconds'>,
  start: (surroundings: Surroundings) => Promise<Running>,
): Promise<void> {
  const log = createLog({ name, level: logLevel })
  const deadlineMillis = shutdownSeconds * 1000 + CLOSING_MILLIS
  const shutdown = handleShutdown({ log, deadlineMillis, withParent: process.channel !== undefined })
  try {
    const running = await start({ log, now: () => new Date() })
    shutdown.add(name, () => running.stop())
    void running.failed?.then((error) => {
      logFailure(log, error)
      return shutdown.begin(`the ${name} cannot continue`, 1)
    })
  } catch (error) {
    // After a signal during the start, further failures are its consequence.
    if (!shutdown.signal.aborted) logFailure(log, error)
    await shutdown.begin('the start failed', 1)
  }
}

function logFailure(log: Logger, error: unknown): void {
  if (isPlainError(error)) log.fatal(error.message)
  else log.fatal({ err: error }, error instanceof Error ? error.message : String(error))
}
