/**
 * An error that is shown without a stack: the message says what is wrong, where, and what to do. store/, keyring/ and
 * kubernetes/ import nothing of ours, so their errors of this kind have the same property, `plain`.
 */
export class PlainError extends Error {
  override readonly name: string = 'PlainError'
  readonly plain = true
}

/** The command line or the configuration is wrong: the command exits with 2. */
export class UsageError extends PlainError {
  override readonly name: string = 'UsageError'
}

/** True for errors that may be shown without a stack. */
export function isPlainError(error: unknown): error is Error {
  return error instanceof Error && 'plain' in error && error.plain === true
}
