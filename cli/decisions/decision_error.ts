/** A decision cannot be made as asked. The message is the whole answer: what is wrong, where, what to do. */
export class DecisionError extends Error {
  override readonly name = 'DecisionError'
}
