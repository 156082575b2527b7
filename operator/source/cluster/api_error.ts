/** An API server refused a call, or could not be reached. The message names the call and what the server said. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  /** HTTP status; 0 when no answer came. */
  readonly status: number
  /** `reason` of the `metav1.Status`, as `AlreadyExists`; `Unreachable` when no answer came. */
  readonly reason: string
  /** Reasons of `details.causes`. */
  readonly causes: readonly string[]
  /** How long the server asks to be left alone. */
  readonly retryAfterMillis: number | undefined

  constructor(message: string, about: ApiErrorDetails) {
    super(message, about.cause === undefined ? undefined : { cause: about.cause })
    this.status = about.status
    this.reason = about.reason
    this.causes = about.causes ?? []
    this.retryAfterMillis = about.retryAfterMillis
  }
}

export interface ApiErrorDetails {
  status: number
  reason: string
  causes?: readonly string[]
  retryAfterMillis?: number | undefined
  cause?: unknown
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
    retryAfterMillis: seconds > 0 ? Math.min(seconds, LONGEST_RETRY_AFTER_SECONDS) * 1_000 : undefined,
  })
}

/** No answer came: no connection, a connection that broke, or nothing within the time. */
export function unreachable(call: string, cause: unknown): ApiError {
  // A parser quotes what it could not read, which may be a Secret.
  if (cause instanceof SyntaxError) return unreachable(call, 'the answer is not JSON')
  const why = cause instanceof Error ? cause.message : String(cause)
  return new ApiError(`${call}: ${why}`, { status: 0, reason: 'Unreachable', cause })
}

export function isStatus(error: unknown, ...statuses: number[]): error is ApiError {
  return error instanceof ApiError && statuses.includes(error.status)
}

/** Creating in a namespace that is being deleted; whatever it was for goes with it. */
export function isNamespaceTerminating(error: unknown): boolean {
  return isStatus(error, 403) && error.causes.includes('NamespaceTerminating')
}

/** A `test` of a JSON patch that did not hold: the API server gives it the status of what is invalid, without causes. */
export function isFailedTest(error: unknown): boolean {
  return isStatus(error, 422) && error.causes.length === 0
}

const LONGEST_RETRY_AFTER_SECONDS = 120

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
