import { ApiError } from '../../../kubernetes/api_error.ts'
import { printable } from '../../../process/printable.ts'
import { DecisionError } from '../decision_error.ts'

const MAX_WORDS = 2_000

/**
 * An error of the API server as one for whoever typed the command. What admission says, it says in its own words, and
 * by the name of the policy. Other errors are returned as they are.
 */
export function refusalError(what: string, error: unknown): unknown {
  if (!(error instanceof ApiError)) return error
  if (error.status === 0) return new DecisionError(`${what}: the API server cannot be reached: ${wordsOf(error)}`)
  if (error.status === 401) {
    return new DecisionError(
      `${what}: the API server does not accept the credentials of the kubeconfig: ${wordsOf(error)}`,
    )
  }
  return new DecisionError(`${what}: ${wordsOf(error)}`)
}

/** What the API server said, without the call that it said it to. */
export function wordsOf({ message }: ApiError): string {
  return printable(message.replace(/^[A-Z]+ \/[^ ]*: (?:\d{3} )?/, ''), MAX_WORDS)
}
