/** An API server refused a call, or did not answer. The message names the call and repeats the API server's message. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  /** HTTP status; 0 without an answer. */
  readonly status: number
  /** `reason` of the `metav1.Status`, as `AlreadyExists`; `Unreachable` without an answer. */
  readonly reason: string
  /** Reasons of `details.causes`. */
  readonly causes: readonly string[]
  /** The wait that the API server asks for. */
  readonly retryAfterMillis: number | undefined

  constructor(message: string, details: ApiErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.status = details.status
    this.reason = details.reason
    this.causes = details.causes ?? []
    this.retryAfterMillis = details.retryAfterMillis
  }
}

export interface ApiErrorDetails {
  status: number
  reason: string
  causes?: readonly string[]
  retryAfterMillis?: number | undefined
  cause?: unknown
}

/** The answer was not read to its end. */
export class AnswerTooLarge extends ApiError {
  constructor(maxBytes: number) {
    super(`the answer is longer than ${maxBytes} bytes`, { status: 0, reason: 'TooLarge' })
  }
}

/** The error of a `metav1.Status`: the body of a refusal, or the object of an ERROR event in a watch. */
export function errorOfStatus(call: string, httpStatus: number, body: unknown, retryAfter?: string): ApiError {
  const { code, reason, message, details } = statusOf(body)
  const status = code ?? httpStatus
  const seconds = Number(retryAfter ?? details?.retryAfterSeconds)
  return new ApiError(`${call}: ${status} ${message ?? reason ?? 'without a reason'}`, {
    status,
    reason: reason ?? '',
    causes: details?.causes?.map((cause) => cause.reason ?? '') ?? [],
    retryAfterMillis: seconds > 0 ? Math.min(seconds, MAX_RETRY_AFTER_SECONDS) * 1_000 : undefined,
  })
}

/** The error of a call without a usable answer: no connection, a broken one, a time-out, or an unreadable body. */
export function unreachable(call: string, cause: unknown): ApiError {
  // A parser's message quotes the text that it could not read, which may be a Secret.
  if (cause instanceof SyntaxError) return unreachable(call, 'the answer is not JSON')
  const message = cause instanceof Error ? cause.message : String(cause)
  return new ApiError(`${call}: ${message}`, { status: 0, reason: 'Unreachable', cause })
}

export function isStatus(error: unknown, ...statuses: number[]): error is ApiError {
  return error instanceof ApiError && statuses.includes(error.status)
}

/** True for a create in a namespace that is being deleted. */
export function isNamespaceTerminating(error: unknown): boolean {
  return isStatus(error, 403) && error.causes.includes('NamespaceTerminating')
}

/** True for a failed `test` of a JSON patch: the API server answers 422, as for an invalid object, without causes. */
export function isFailedTest(error: unknown): boolean {
  return isStatus(error, 422) && error.causes.length === 0
}

/**
 * True for an error that says nothing about history, so that a watch may continue from its last resource version: no
 * answer, refused credentials or rights, or an API server that is overloaded or starting.
 */
export function canResume(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false
  const { status, reason } = error
  return status === 0 || (status >= 500 && reason !== 'Timeout') || [401, 403, 408, 429].includes(status)
}

const MAX_RETRY_AFTER_SECONDS = 120

interface StatusBody {
  code?: number
  reason?: string
  message?: string
  details?: { retryAfterSeconds?: number; causes?: { reason?: string }[] }
}

function statusOf(body: unknown): StatusBody {
  if (typeof body !== 'object' || body === null) return {}
  return Reflect.get(body, 'kind') === 'Status' ? body : {}
}
