import { createLog } from '../process/log.ts'
import type { Logger } from '../process/log.ts'
import { handleShutdown } from '../process/shutdown.ts'
import { isPlainError } from '../process/plain_error.ts'

/** What a process is started with beside its configuration. */
export interface Surroundings {
  log: Logger
  now: () => Date
}

export interface Running {
  stop(): Promise<void>
  /** Resolves when it cannot go on. */
  failed?: Promise<Error>
}

/** Time to close what remains when requests in flight were cut off. */
const CLOSING_MILLIS = 3_000

/**
 * Starts a process, and stops it when it is told to end. A start that fails is logged, in one line when the message says
 * it all, and the process exits with 1.
 */
export async function startProcess(
  name: string,
  { logLevel, shutdownSeconds }: { logLevel: 'debug' | 'info' | 'warn' | 'error'; shutdownSeconds: number },
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
      return shutdown.begin('it cannot go on', 1)
    })
  } catch (error) {
    // SIGTERM while it starts: what then fails, fails because of it.
    if (!shutdown.signal.aborted) logFailure(log, error)
    await shutdown.begin('the start failed', 1)
  }
}

function logFailure(log: Logger, error: unknown): void {
  if (isPlainError(error)) log.fatal(error.message)
  else log.fatal({ err: error }, error instanceof Error ? error.message : String(error))
}
