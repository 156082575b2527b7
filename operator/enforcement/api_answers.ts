import { ApiError, isStatus } from '../../kubernetes/api_error.ts'
import { ResourceConflict } from '../source/resource_source.ts'
import { NotYet } from '../view/view.ts'
import { NoAnswer } from './policy_access.ts'
import type { ProbeResult } from './policy_access.ts'

/** `… is forbidden: ValidatingAdmissionPolicy 'NAME' with binding 'NAME' denied request: …`: KEP-3488. */
const BY_POLICY = / is forbidden: ValidatingAdmissionPolicy '([^']+)' with binding '[^']+' denied request/

/** What the answer to a probe shows. */
export function outcomeOf(error: unknown): ProbeResult {
  // The object was deleted or replaced meanwhile.
  if (isStatus(error, 404, 409)) return { result: 'none' }
  const answer = answered(error)
  if (answer instanceof NoAnswer || !(answer instanceof ApiError)) throw answer
  const policy = answer.status === 403 ? BY_POLICY.exec(answer.message)?.[1] : undefined
  return policy === undefined ? { result: 'failed', why: answer.message } : { result: 'refused', policy }
}

/**
 * NoAnswer for errors that tell nothing about policies: no connection, an unknown identity, too many requests, a failing
 * server, and a process that does not lead.
 */
export function answered(error: unknown): unknown {
  if (error instanceof ResourceConflict) return new NoAnswer(error.message, { cause: error })
  if (!(error instanceof ApiError)) return error
  const isSilence = [0, 401, 408, 410, 429].includes(error.status) || error.status >= 500
  return isSilence ? new NoAnswer(error.message, { cause: error }) : error
}

export function throwAnswered(error: unknown): never {
  throw answered(error)
}

/** Undefined without an answer. */
export async function answeredOrNone<Answer>(answer: Promise<Answer>): Promise<Answer | undefined> {
  return answer.catch((error: unknown) => {
    if (error instanceof NoAnswer) return undefined
    throw error
  })
}

/** For a reconcile that waits for the answer. */
export function throwNotYet(error: unknown): never {
  if (error instanceof NoAnswer) throw new NotYet(error.message)
  throw error
}
