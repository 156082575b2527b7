import { isTurnedAway, isUnavailable } from '../../store/db.ts'
import type { HttpAnswer } from './http.ts'
import { OAuthError } from './oauth_error.ts'

/** What leaves of an error, and what of it an operator should see. */
export interface RenderedError extends HttpAnswer {
  headers: Record<string, string>
  body: { error: string; error_description: string }
  /** Set for faults: of ours, or of what we depend on. */
  fault?: unknown
}

/** Decides what a client may see of an error: its own mistakes in words, and of everything else only that it happened. */
export function renderError(error: unknown): RenderedError {
  const seen = error instanceof OAuthError ? error : concealed(error)
  const headers = { ...seen.headers }
  if ((seen.status === 503 || seen.status === 429) && headers['Retry-After'] === undefined) headers['Retry-After'] = '2'
  const rendered = { status: seen.status, headers, body: seen.toJSON() }
  const fault = error instanceof OAuthError ? error.cause : error
  return fault === undefined ? rendered : { ...rendered, fault }
}

function concealed(error: unknown): OAuthError {
  if (isUnavailable(error) || isTurnedAway(error)) {
    return new OAuthError('temporarily_unavailable', 'The service is not available right now')
  }
  return new OAuthError('server_error', 'The request failed on our side')
}
