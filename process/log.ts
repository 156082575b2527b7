import { pino } from 'pino'
import type { DestinationStream, Logger } from 'pino'
import { loggable, loggableText } from './loggable.ts'

export type { Logger }

export interface LogOptions {
  /** Name of the process: `server`, `operator`. */
  name: string
  level: 'debug' | 'info' | 'warn' | 'error'
  /** Default: standard output. */
  destination?: DestinationStream
}

/**
 * The log of a process: one JSON object per line, cleaned by `loggable`. That is the second line of defence: callers must
 * not log secrets. For one request use `log.child({ requestId })`.
 */
export function createLog({ name, level, destination }: LogOptions): Logger {
  const log = pino(
    {
      level,
      timestamp: pino.stdTimeFunctions.isoTime,
      base: { process: name },
      formatters: {
        level: (label) => ({ level: label }),
        log: loggable,
      },
      // `loggable` has copied errors; pino's own serializer must not run on the copies.
      serializers: { err: (copy: unknown) => copy },
      hooks: {
        logMethod(args, method) {
          const [members, message] = normalized(args)
          method.call(this, members, message)
        },
      },
    },
    // Synchronous, because the last lines before a process ends give the reason.
    destination ?? pino.destination({ dest: 1, sync: true }),
  )
  // pino applies no formatter to the members of a child log. Children inherit this method.
  // oxlint-disable-next-line typescript/unbound-method -- the proxy passes `this` on
  log.child = new Proxy(log.child, {
    apply: (child, self, [bindings, ...rest]) => Reflect.apply(child, self, [loggable(bindings), ...rest]),
  })
  return log
}

/** Logs that a caller was refused because something ran out. `kind` names it, and comes from a closed set. */
export type LogOverload = (kind: string, members?: object) => void

const OVERLOAD_LINES = 10
const OVERLOAD_MILLIS = 60_000

/**
 * Logs refusals for overload as `warn`: at most ten lines a minute of each kind, so that a flood does not fill the log, and
 * one line with the number of the others.
 * @param after calls a function once, after so many milliseconds
 */
export function overloadLog(
  log: Logger,
  after = (millis: number, then: () => void): void => void setTimeout(then, millis).unref(),
): LogOverload {
  const counts = new Map<string, number>()

  function endMinute(kind: string): void {
    const notLogged = (counts.get(kind) ?? 0) - OVERLOAD_LINES
    counts.delete(kind)
    if (notLogged > 0) log.warn({ overload: kind, notLogged }, 'more was refused because of overload')
  }

  return (kind, members) => {
    const before = counts.get(kind)
    counts.set(kind, (before ?? 0) + 1)
    if (before === undefined) after(OVERLOAD_MILLIS, () => endMinute(kind))
    if ((before ?? 0) < OVERLOAD_LINES) log.warn({ overload: kind, ...members }, 'refused because of overload')
  }
}

/** The arguments of a log call as members and one clean message. pino's interpolation is not supported: use members. */
function normalized([first, second]: unknown[]): [object, string] {
  if (typeof first === 'string') return [{}, loggableText(first)]
  const members: Record<string, unknown> = first instanceof Error ? { err: first } : { ...Object(first) }
  if (typeof second === 'string') return [members, loggableText(second)]
  return [members, members.err instanceof Error ? loggableText(members.err.message) : '']
}
