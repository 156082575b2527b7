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

export interface OAuthErrorOptions extends ErrorOptions {
  /** Where protocol.md departs from the status that the code implies, such as 401 `invalid_grant` for credentials. */
  status?: number
  headers?: Record<string, string>
}

/**
 * An error that the client is meant to see. Code and description go on the wire; what only operators may see
 * belongs in `cause`. Descriptions never repeat input, and keep to the characters of RFC 6749 section 5.2.
 */
export class OAuthError extends Error {
  override readonly name = 'OAuthError'
  readonly error: OAuthErrorCode
  readonly description: string
  readonly status: number
  readonly headers: Record<string, string>

  constructor(error: OAuthErrorCode, description: string, options: OAuthErrorOptions = {}) {
    super(`${error}: ${description}`, options)
    this.error = error
    this.description = description
    this.status = options.status ?? STATUS[error]
    this.headers = options.headers ?? {}
  }

  toJSON(): { error: string; error_description: string } {
    return { error: this.error, error_description: this.description }
  }
}
