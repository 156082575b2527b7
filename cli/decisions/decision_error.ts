import { PlainError } from '../../process/plain_error.ts'

/** A decision cannot be made as asked. The message is the whole answer: what is wrong, where, what to do. */
export class DecisionError extends PlainError {
  override readonly name = 'DecisionError'
}
