import { loggableText } from '../../process/loggable.ts'

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal']
const HIDDEN = new Set(['level', 'time', 'process', 'msg', 'err', 'requestId'])

/**
 * A log line for a terminal: time, process, severity, message and members. Undefined when its severity is below `least`.
 * Text that is not a log line is returned with control characters escaped.
 */
export function readableLine(line: string, from: string, least: string): string | undefined {
  const entry = parse(line)
  if (!entry) return `${' '.repeat(9)}${from.padEnd(9)} ${loggableText(line)}`
  const level = typeof entry.level === 'string' ? entry.level : 'info'
  if (LEVELS.indexOf(level) < LEVELS.indexOf(least)) return undefined
  const time = typeof entry.time === 'string' ? entry.time.slice(11, 19) : ''
  const severity = level === 'info' ? '' : `${level}: `
  return loggableText(`${time} ${from.padEnd(9)} ${severity}${messageOf(entry)}${membersOf(entry)}`)
}

function parse(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    const entry: unknown = JSON.parse(line)
    return typeof entry === 'object' && entry !== null && 'msg' in entry ? { ...entry } : undefined
  } catch {
    return undefined
  }
}

function messageOf({ msg, err }: Record<string, unknown>): string {
  const message = typeof msg === 'string' ? msg : ''
  const cause = typeof err === 'object' && err !== null && 'message' in err ? String(err.message) : ''
  return cause && cause !== message ? `${message}: ${cause}` : message
}

function membersOf(entry: Record<string, unknown>): string {
  const shown = Object.entries(entry)
    .filter(([name]) => !HIDDEN.has(name))
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
  return shown.length === 0 ? '' : ` (${shown.join(', ')})`
}
