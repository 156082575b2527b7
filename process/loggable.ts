const LONGEST_TEXT = 2_000
const LONGEST_STACK = 6_000
const DEEPEST = 5
const MOST_MEMBERS = 50

// Whole words of a member's name in camelCase, snake_case or kebab-case: `clientSecret`, `refresh_token`, `x-api-key`.
const SECRET_NAME =
  /(?:^|_)(?:authorization|cookie|password|passwd|secret|token|assertion|credential|private|key|plaintext|ciphertext|value)s?(?:_|$)/
// Names that match but hold nothing secret.
const PUBLIC_NAME =
  /(?:^|_)(?:token_type|key_id|key_version|keyring|public_key|token_endpoint|secret_name|secret_namespace)(?:_|$)/

const CREDENTIALS: [RegExp, string][] = [
  [/\b(postgres(?:ql)?|https?):\/\/[^\s/@:]*:[^\s/@]*@/gi, '$1://[redacted]@'],
  [/\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g, '[token]'],
  [/\brk\d+:\d+:[\w-]+/g, '[ciphertext]'],
  [/\b(Bearer|Basic)\s+[\w+/=.~-]{8,}/gi, '$1 [redacted]'],
  [/\$argon2\w*\$\S+/g, '[password hash]'],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*-----|$)/g, '[private key]'],
]

// C0, C1, bidirectional overrides, line separators: they would act on the terminal that shows the log.
// oxlint-disable-next-line no-control-regex -- it finds control characters
const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** A text as one line that is safe to show: control characters escaped, credentials replaced, length bounded. */
export function loggableText(text: string, longest = LONGEST_TEXT): string {
  // Cut before the patterns run, because callers may send texts of any length.
  let line = text.slice(0, longest * 2)
  for (const [pattern, replacement] of CREDENTIALS) line = line.replace(pattern, replacement)
  line = line.replace(CONTROL_CHARACTERS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return line.length > longest ? `${line.slice(0, longest)}… (${text.length} characters)` : line
}

/** The message of an error as one line that is safe to show. */
export function errorText(error: unknown, longest?: number): string {
  return loggableText(error instanceof Error ? error.message : String(error), longest)
}

/**
 * A bounded copy of the members of a log line, without secrets. pino's `redact` takes a fixed list of paths and its
 * serializers one member each; this finds secrets by the words of a name at any depth, and in texts and error causes.
 */
export function loggable(members: Record<string, unknown>): Record<string, unknown> {
  return copyMembers(members, 0)
}

function copyMembers(members: object, depth: number): Record<string, unknown> {
  const copy: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(members).slice(0, MOST_MEMBERS)) {
    copy[loggableText(name, 100)] = isSecretName(name) && isContent(value) ? '[redacted]' : copyValue(value, depth)
  }
  return copy
}

function copyValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return loggableText(value)
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object' || value === null) return typeof value === 'function' ? '[function]' : value
  if (value instanceof Error) return copyError(value, depth)
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`
  if (depth >= DEEPEST) return '[…]'
  if (Array.isArray(value)) return value.slice(0, MOST_MEMBERS).map((item) => copyValue(item, depth + 1))
  return copyMembers(value, depth + 1)
}

/** Copies listed members only, because others may hold data: `detail` of a PostgreSQL error holds the values of a row. */
function copyError(error: Error, depth: number): Record<string, unknown> {
  const copy: Record<string, unknown> = { type: error.name, message: loggableText(error.message) }
  for (const name of ['code', 'constraint', 'table', 'routine', 'status', 'syscall', 'address', 'port']) {
    const value: unknown = Reflect.get(error, name)
    if (typeof value === 'string' || typeof value === 'number') copy[name] = copyValue(value, depth)
  }
  if (error.stack !== undefined) copy.stack = stackLines(error.stack)
  if (error.cause !== undefined && depth < DEEPEST) copy.cause = copyValue(error.cause, depth + 1)
  if (error instanceof AggregateError && depth < DEEPEST) copy.errors = copyValue(error.errors, depth + 1)
  return copy
}

function stackLines(stack: string): string {
  return stack
    .slice(0, LONGEST_STACK)
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .map((line) => loggableText(line.trim(), 300))
    .join(' < ')
}

function isSecretName(name: string): boolean {
  const words = name
    .slice(0, 100)
    .replace(/([a-z\d])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase()
  return SECRET_NAME.test(words) && !PUBLIC_NAME.test(words)
}

function isContent(value: unknown): boolean {
  return value !== undefined && value !== null && typeof value !== 'boolean' && typeof value !== 'number'
}

/** The code of a system error, like `ENOENT`; `unknown error` for any other value. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown error'
}
