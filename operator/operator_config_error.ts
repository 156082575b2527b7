/** The configuration cannot be used; the message says what to change. */
export class OperatorConfigError extends Error {
  override readonly name = 'OperatorConfigError'
}
