import type { IncomingHttpHeaders } from 'node:http'
import { OAuthError } from './oauth_error.ts'

/**
 * Refuses a body that is encoded, of another media type, or in a charset other than UTF-8, before a byte of it is read:
 * nothing is ever inflated here.
 * @throws OAuthError 415
 */
export function checkContentType(headers: IncomingHttpHeaders, wanted: string): void {
  const encoding = headers['content-encoding']
  const transfer = headers['transfer-encoding']
  const isEncoded = encoding !== undefined && encoding.toLowerCase() !== 'identity'
  // RFC 9112 section 7: `gzip, chunked` is one more way to encode a body, which Node hands over as it is.
  if (isEncoded || (transfer !== undefined && transfer.toLowerCase() !== 'chunked')) {
    throw new OAuthError('unsupported_media_type', 'The body must not be encoded')
  }
  const [type = '', ...parameters] = (headers['content-type'] ?? '').split(';')
  if (type.trim().toLowerCase() !== wanted) throw new OAuthError('unsupported_media_type', `The body must be ${wanted}`)
  for (const parameter of parameters) {
    const [name = '', value = ''] = parameter.split('=')
    if (name.trim().toLowerCase() !== 'charset') continue
    if (!/^"?utf-?8"?$/i.test(value.trim())) throw new OAuthError('unsupported_media_type', 'The charset must be UTF-8')
  }
}
