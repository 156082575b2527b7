import { pino } from 'pino'
import type { DestinationStream, Logger } from 'pino'
import { loggable, loggableText } from './loggable.ts'

export type { Logger }

export interface LogOptions {
  /** The process: `server`, `operator`. */
  name: string
  level: 'debug' | 'info' | 'warn' | 'error'
  /** Default: standard output. */
  destination?: DestinationStream
}

/**
 * The log of a process: one JSON object a line. Members whose name says secret are replaced, texts are freed of
 * control characters and of whatever looks like a credential, and cut to a bound; but that is the second net:
 * no caller hands it a secret. For one request use `log.child({ requestId })`.
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
      // `loggable` has made plain members of errors; pino would go over them once more.
      serializers: { err: (copied: unknown) => copied },
      hooks: {
        logMethod(args, method) {
          const [members, message] = lineOf(args)
          method.call(this, members, message)
        },
      },
    },
    // Written at once: the last lines before the end of a process are those that say why.
    destination ?? pino.destination({ dest: 1, sync: true }),
  )
  // Members bound to a child pass no formatter. Children inherit this method, so theirs do as well.
  // oxlint-disable-next-line typescript/unbound-method -- the proxy hands `this` on
  log.child = new Proxy(log.child, {
    apply: (child, self, [bindings, ...rest]) => Reflect.apply(child, self, [loggable(bindings), ...rest]),
  })
  return log
}

/** What pino was called with, as members and one clean message. Nothing is interpolated: members are there for that. */
function lineOf([first, second]: unknown[]): [object, string] {
  if (typeof first === 'string') return [{}, loggableText(first)]
  const members: Record<string, unknown> = first instanceof Error ? { err: first } : { ...Object(first) }
  if (typeof second === 'string') return [members, loggableText(second)]
  return [members, members.err instanceof Error ? loggableText(members.err.message) : '']
}
