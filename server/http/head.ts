import type { IncomingMessage } from 'node:http'
import { OAuthError } from './oauth_error.ts'

const MAX_HEADERS = 100

/**
 * RFC 9110 section 5.3: these are given once. Node takes the first of two, a proxy or a filter before us may take the
 * second; of Host, RFC 9112 section 3.2 demands the refusal.
 */
const GIVEN_ONCE = new Set(['authorization', 'content-type', 'host'])

/**
 * @throws OAuthError 431 for too many headers, 400 for a repeated one of those that decide who calls with what, and for
 * HTTP/1.1 without a Host (RFC 9112 section 3.2)
 */
export function checkHead({ rawHeaders, httpVersion }: Pick<IncomingMessage, 'rawHeaders' | 'httpVersion'>): void {
  if (rawHeaders.length > 2 * MAX_HEADERS) {
    throw new OAuthError('invalid_request', 'Too many headers', { status: 431, headers: { Connection: 'close' } })
  }
  const seen = new Set<string>()
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? ''
    if (!GIVEN_ONCE.has(name)) continue
    if (seen.has(name)) throw new OAuthError('invalid_request', 'duplicated header')
    seen.add(name)
  }
  if (httpVersion === '1.1' && !seen.has('host')) throw new OAuthError('invalid_request', 'No Host header')
}
