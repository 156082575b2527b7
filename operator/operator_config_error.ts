import { PlainError } from '../process/plain_error.ts'

/** The configuration cannot be used; the message says what to change. */
export class OperatorConfigError extends PlainError {
  override readonly name = 'OperatorConfigError'
}
