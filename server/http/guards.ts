import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { OAuthError } from './oauth_error.ts'

// What stands in front of @koa/router and koa-bodyparser, because they would let it pass.

const MAX_HEADERS = 100

/**
 * RFC 9110 section 5.3 allows these once. Node takes the first of two, a proxy in front may take the second.
 * RFC 9112 section 3.2 demands the refusal of a second Host.
 */
const GIVEN_ONCE = new Set(['authorization', 'content-type', 'host'])

/**
 * Guards the head of a request.
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

/**
 * The path and the query of a request target, nothing decoded. Koa parses the target as a URL, which cuts the path at
 * `#` and takes an authority apart. The authority of an absolute target (RFC 9112 section 3.2.2) is not used; without a
 * path it is `/`.
 */
export function readTarget(target: string): { path: string; query: string } {
  const question = target.indexOf('?')
  const end = question < 0 ? target.length : question
  const before = target.slice(0, end)
  const start = before.startsWith('/') ? 0 : before.indexOf('/', before.indexOf('//') + 2)
  return { path: start < 0 ? '/' : before.slice(start), query: target.slice(end + 1) }
}

/**
 * Guards a body before its first byte is read: koa-bodyparser would inflate it, and pass over its charset.
 * @throws OAuthError 415 for an encoded body, another media type, or a charset other than UTF-8
 */
export function checkContent(headers: IncomingHttpHeaders, mediaType: string): void {
  const encoding = headers['content-encoding']
  const transfer = headers['transfer-encoding']
  const isEncoded = encoding !== undefined && encoding.toLowerCase() !== 'identity'
  // RFC 9112 section 7: `gzip, chunked` is one more way to encode a body, which Node hands over as it is.
  if (isEncoded || (transfer !== undefined && transfer.toLowerCase() !== 'chunked')) {
    throw new OAuthError('unsupported_media_type', 'The body must not be encoded')
  }
  const [type = '', ...parameters] = (headers['content-type'] ?? '').split(';')
  if (type.trim().toLowerCase() !== mediaType) {
    throw new OAuthError('unsupported_media_type', `The body must be ${mediaType}`)
  }
  for (const parameter of parameters) {
    const [name = '', value = ''] = parameter.split('=')
    if (name.trim().toLowerCase() !== 'charset') continue
    if (!/^"?utf-?8"?$/i.test(value.trim())) throw new OAuthError('unsupported_media_type', 'The charset must be UTF-8')
  }
}
