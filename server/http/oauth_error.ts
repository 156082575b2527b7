import { isExhausted, isTurnedAway, isUnavailable } from '../../store/db.ts'

/** Error codes that this server answers, each with its HTTP status. */
const STATUS = {
  // RFC 6749 section 5.2
  invalid_request: 400,
  invalid_client: 401,
  invalid_grant: 400,
  unauthorized_client: 400,
  unsupported_grant_type: 400,
  invalid_scope: 400,
  access_denied: 403,
  // RFC 6750 section 3.1
  invalid_token: 401,
  insufficient_scope: 403,
  // field encryption
  field_encryption_unavailable: 403,
  subject_not_pinned: 403,
  invalid_ciphertext: 400,
  decryption_failed: 400,
  key_version_unknown: 400,
  key_disabled: 400,
  key_destroyed: 400,
  value_too_large: 413,
  batch_too_large: 413,
  keyring_unavailable: 503,
  // everywhere
  realm_not_found: 404,
  not_found: 404,
  method_not_allowed: 405,
  request_too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  server_error: 500,
  temporarily_unavailable: 503,
} as const

export type OAuthErrorCode = keyof typeof STATUS

/** Identifiers for the log line: of rows that were found, never text that the caller sent. */
export interface ErrorContext {
  clientId?: string
  subject?: string
  sid?: string
}

/** What ran out, when a request is refused for overload. */
export type Overload = 'body_memory' | 'password_hashes' | 'database_connections'

export interface OAuthErrorOptions {
  /** Where the protocol departs from the status that the code implies, such as 401 `invalid_grant` for credentials. */
  status?: number
  headers?: Record<string, string>
  /** For the log line alone: a fixed text that names the reason, such as `unknown client`, or the error behind this one. */
  cause?: string | Error
  /** For the log line alone. */
  context?: ErrorContext
  /** For the log alone, which then has a sample of these refusals. */
  overload?: Overload
}

/**
 * An error in two halves. Code, description and headers are public; the description repeats no input and keeps to the
 * characters of RFC 6749 section 5.2. `cause` and `context` are private: they go into the log line of the request, so
 * that an operator can tell a wrong secret from an unknown client and the caller cannot.
 */
export class OAuthError extends Error {
  override readonly name = 'OAuthError'
  readonly error: OAuthErrorCode
  readonly description: string
  readonly status: number
  readonly headers: Record<string, string>
  override readonly cause: string | Error | undefined
  readonly context: ErrorContext
  readonly overload: Overload | undefined

  constructor(error: OAuthErrorCode, description: string, options: OAuthErrorOptions = {}) {
    super(`${error}: ${description}`)
    this.error = error
    this.description = description
    this.status = options.status ?? STATUS[error]
    this.headers = options.headers ?? {}
    this.cause = options.cause
    this.context = options.context ?? {}
    this.overload = options.overload
  }

  toJSON(): { error: string; error_description: string } {
    return { error: this.error, error_description: this.description }
  }
}

/** An error as an answer to the caller, and as members of the request's log line. */
export interface RenderedError {
  answer: { status: number; headers: Record<string, string>; body: { error: string; error_description: string } }
  log: { error: string; description: string; overload?: Overload; cause?: string; err?: unknown } & ErrorContext
}

/** Decides what leaves of an error: an OAuthError's public half; of every other error only that the request failed. */
export function renderError(thrown: unknown): RenderedError {
  const error = thrown instanceof OAuthError ? thrown : concealed(thrown)
  const headers = { ...error.headers }
  if (error.status === 503 || error.status === 429) headers['Retry-After'] ??= '2'
  const { cause, overload } = error
  return {
    answer: { status: error.status, headers, body: error.toJSON() },
    log: {
      error: error.error,
      description: error.description,
      ...(overload !== undefined && { overload }),
      ...(typeof cause === 'string' ? { cause } : cause !== undefined && { err: cause }),
      ...(error !== thrown && { err: thrown }),
      ...error.context,
    },
  }
}

function concealed(thrown: unknown): OAuthError {
  if (isUnavailable(thrown) || isTurnedAway(thrown)) {
    return new OAuthError('temporarily_unavailable', 'The service is not available right now', {
      ...(isExhausted(thrown) && { overload: 'database_connections' }),
    })
  }
  return new OAuthError('server_error', 'The request failed on our side')
}
