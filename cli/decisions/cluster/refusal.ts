import { ApiError } from '../../../kubernetes/api_error.ts'
import { printable } from '../../../process/printable.ts'
import { DecisionError } from '../decision_error.ts'

const MAX_MESSAGE_LENGTH = 2_000

/**
 * The DecisionError for an error of the API server. It repeats the message of an admission policy, which names the
 * policy. Other errors are returned unchanged.
 */
export function refusalError(what: string, error: unknown): unknown {
  if (!(error instanceof ApiError)) return error
  if (error.status === 0) return new DecisionError(`${what}: the API server cannot be reached: ${messageOf(error)}`)
  if (error.status === 401) {
    return new DecisionError(
      `${what}: the API server does not accept the credentials of the kubeconfig: ${messageOf(error)}`,
    )
  }
  return new DecisionError(`${what}: ${messageOf(error)}`)
}

/** The API server's message, without the name of the call. */
function messageOf({ message }: ApiError): string {
  return printable(message.replace(/^[A-Z]+ \/[^ ]*: (?:\d{3} )?/, ''), MAX_MESSAGE_LENGTH)
}
