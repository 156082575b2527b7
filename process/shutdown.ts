import type { Logger } from './log.ts'

export interface ShutdownOptions {
  log: Logger
  /** For all steps together. */
  deadlineMillis: number
  /** Default: SIGTERM and SIGINT. */
  signals?: NodeJS.Signals[]
  /** True in a child process that must not outlive its parent: it shuts down when the IPC channel closes. */
  withParent?: boolean
}

export interface Shutdown {
  /**
   * Adds a step. The last one added runs first, so each part adds its own after it has started. A step added during
   * the shutdown runs too, so that a process that receives a signal while it starts leaves nothing behind.
   */
  add(name: string, step: () => Promise<void> | void): void
  /** Aborted when the shutdown begins. */
  signal: AbortSignal
  /** Begins the shutdown; a second call only waits. `code` is the exit code when all steps succeed. */
  begin(reason: string, code?: number): Promise<void>
}

/** A terminal sends SIGINT to npm and to its child, and npm passes it on: two within this time are one Ctrl-C. */
const REPEATED_SIGINT_MILLIS = 300

/**
 * Handles SIGTERM and SIGINT for every process of realmkeeper. The first signal runs the steps and exits with 0, or with
 * 1 when a step failed or the deadline passed. A second signal exits with 1 at once. An error that reaches the top is
 * logged and exits with 1 without any step, because the state of the process is unknown.
 */
export function handleShutdown(options: ShutdownOptions): Shutdown {
  const { log, deadlineMillis, signals = ['SIGTERM', 'SIGINT'] } = options
  const begun = new AbortController()
  const steps: { name: string; step: () => Promise<void> | void }[] = []
  let hasFailed = false
  let isFinished = false
  let shutdown: Promise<void> | undefined
  let firstSignalAt = 0

  for (const signal of signals) process.on(signal, () => onSignal(signal))
  if (options.withParent) process.on('disconnect', () => void begin('the parent process ended'))
  process.on('uncaughtException', (error) => onFault('uncaughtException', error))
  process.on('unhandledRejection', (error) => onFault('unhandledRejection', error))

  function onSignal(signal: NodeJS.Signals): void {
    if (!shutdown) {
      firstSignalAt = performance.now()
      void begin(signal)
      return
    }
    const isRepeated = signal === 'SIGINT' && performance.now() - firstSignalAt < REPEATED_SIGINT_MILLIS
    if (!isRepeated) exit(1)
  }

  function onFault(name: string, error: unknown): void {
    log.fatal({ err: error instanceof Error ? error : new Error(String(error)) }, name)
    exit(1)
  }

  function begin(reason: string, code = 0): Promise<void> {
    return (shutdown ??= runSteps(reason, code))
  }

  async function runSteps(reason: string, code: number): Promise<void> {
    log.info({ reason }, 'shutting down')
    begun.abort()
    const deadline = setTimeout(() => {
      log.error({ waitingFor: steps.at(-1)?.name }, 'the shutdown took too long')
      exit(1)
    }, deadlineMillis)
    for (let last = steps.at(-1); last; last = steps.at(-1)) {
      await run(last)
      steps.splice(steps.indexOf(last), 1)
    }
    isFinished = true
    clearTimeout(deadline)
    log.info('shut down')
    exit(hasFailed ? 1 : code)
  }

  async function run({ name, step }: (typeof steps)[number]): Promise<void> {
    try {
      await step()
    } catch (error) {
      hasFailed = true
      log.error({ err: error, step: name }, 'a step of the shutdown failed')
    }
  }

  return {
    add(name, step) {
      if (isFinished) void run({ name, step })
      else steps.push({ name, step })
    },
    signal: begun.signal,
    begin,
  }
}

function exit(code: number): never {
  // oxlint-disable-next-line unicorn/no-process-exit -- the one place where a process ends itself
  process.exit(code)
}
