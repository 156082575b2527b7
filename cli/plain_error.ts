/** A command cannot do what was asked. The message is the whole answer: what is wrong, where, what to do. */
export class PlainError extends Error {
  override readonly name: string = 'PlainError'
}

/** The command line is wrong in a way that commander does not know of; the exit code is 2. */
export class UsageError extends PlainError {
  override readonly name = 'UsageError'
}

// By name: the parts that throw them are loaded by the commands that need them, not by every command.
const WRITTEN_FOR_PEOPLE = new Set([
  'ApiAccessError',
  'DecisionError',
  'DirectoryLocked',
  'EmbeddedPostgresError',
  'KubeConfigError',
  'LicenseKeyError',
  'ListenError',
  'OperatorConfigError',
  'PlainError',
  'SchemaMismatch',
  'ServerConfigError',
  'StateError',
  'UsageError',
])

/** True for errors whose message was written for the person who started the command. */
export function isForThePerson(error: unknown): error is Error {
  return error instanceof Error && WRITTEN_FOR_PEOPLE.has(error.name)
}
