const LONGEST_TEXT = 2_000
const LONGEST_STACK = 6_000
const DEEPEST = 5
const MOST_MEMBERS = 50

// Whole words of a member's name, in camelCase, snake_case or kebab-case: `clientSecret`, `refresh_token`, `x-api-key`.
const SECRET_NAME =
  /(?:^|_)(?:authorization|cookie|password|passwd|secret|token|assertion|credential|private|key|plaintext|ciphertext|value)s?(?:_|$)/
// Names that match and say nothing secret.
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

// Control and format characters (C0, C1, bidirectional overrides, line separators): a log is read on terminals.
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** A text as one line that is safe to show: no control characters, nothing that looks like a credential, bounded. */
export function loggableText(text: string, longest = LONGEST_TEXT): string {
  // Cut first, with room to spare: patterns run over what a caller sent.
  let line = text.slice(0, longest * 2)
  for (const [pattern, replacement] of CREDENTIALS) line = line.replace(pattern, replacement)
  line = line.replace(CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return line.length > longest ? `${line.slice(0, longest)}… (${text.length} characters)` : line
}

/** The members of a log line, without what must not be in one: a bounded copy, nothing of it shared. */
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

/** Named members only: `detail` of a PostgreSQL error, for one, holds the row's values. */
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
