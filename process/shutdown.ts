import type { Logger } from './log.ts'

export interface ShutdownOptions {
  log: Logger
  /** For all steps together. Milliseconds. */
  deadlineMillis: number
  /** Ends the process; a test hands in its own. */
  exit?: (code: number) => void
  signals?: NodeJS.Signals[]
  /** Where signals and faults arrive; a test hands in an emitter. */
  events?: Pick<NodeJS.Process, 'on' | 'off'>
  /** True in a child that must not outlive its parent: the end of the channel between them begins the shutdown. */
  withParent?: boolean
}

export interface Shutdown {
  /**
   * Adds a step; the last one added runs first, so each part adds its own when it has started. Added after the
   * shutdown began, it runs at once: a process that is told to end while it starts leaves nothing behind.
   */
  add(name: string, step: () => Promise<void> | void): void
  /** Aborted when the shutdown begins. */
  signal: AbortSignal
  /** Begins the shutdown; called again, it only waits. `code` is what the process exits with when all goes well. */
  begin(reason: string, code?: number): Promise<void>
}

/** One Ctrl-C may arrive twice: from the terminal, and passed on by npm. Nobody presses it again that fast. */
const ECHO_MILLIS = 300

/**
 * How a process ends: on the first SIGTERM or SIGINT its steps run one after another and it exits with 0, or with
 * 1 when a step failed or the deadline passed; a second signal ends it at once, with 1. An error that nobody caught
 * is logged and ends it with 1 without further steps, because nothing is known of its state any more.
 */
export function handleShutdown(options: ShutdownOptions): Shutdown {
  const { log, deadlineMillis, signals = ['SIGTERM', 'SIGINT'], events = process } = options
  // oxlint-disable-next-line unicorn/no-process-exit -- this is where a process ends
  const exit = options.exit ?? ((code) => process.exit(code))
  const started = new AbortController()
  const steps: { name: string; step: () => Promise<void> | void }[] = []
  let clean = true
  let finished = false
  let ended: Promise<void> | undefined

  async function run({ name, step }: (typeof steps)[number]): Promise<void> {
    try {
      await step()
    } catch (error) {
      clean = false
      log.error({ err: error, step: name }, 'a step of the shutdown failed')
    }
  }

  async function runAll(reason: string, code: number): Promise<void> {
    log.info({ reason }, 'shutting down')
    started.abort()
    const deadline = setTimeout(() => {
      log.error({ waitingFor: steps.at(-1)?.name }, 'the shutdown took too long')
      exit(1)
    }, deadlineMillis)
    for (let last = steps.at(-1); last; last = steps.at(-1)) {
      await run(last)
      steps.splice(steps.indexOf(last), 1)
    }
    finished = true
    clearTimeout(deadline)
    log.info('shut down')
    exit(clean ? code : 1)
  }

  const begin = (reason: string, code = 0): Promise<void> => (ended ??= runAll(reason, code))

  let firstSignalAt: number | undefined
  for (const signal of signals) {
    events.on(signal, () => {
      if (!ended) {
        firstSignalAt = performance.now()
        void begin(signal)
        return
      }
      const isEcho = signal === 'SIGINT' && performance.now() - (firstSignalAt ?? 0) < ECHO_MILLIS
      if (!isEcho) exit(1)
    })
  }
  if (options.withParent) events.on('disconnect', () => void begin('the parent process is gone'))
  for (const fault of ['uncaughtException', 'unhandledRejection'] as const) {
    events.on(fault, (error: unknown) => {
      log.fatal({ err: error instanceof Error ? error : new Error(String(error)) }, fault)
      exit(1)
    })
  }

  return {
    add(name, step) {
      if (finished) void run({ name, step })
      else steps.push({ name, step })
    },
    signal: started.signal,
    begin,
  }
}
