import type { Form } from './request.ts'
import { OAuthError } from './oauth_error.ts'

const MAX_FIELDS = 100
const MAX_NAME_LENGTH = 256
/** Longer than any valid token, so that an over-long token is an invalid token rather than a bad form. */
const MAX_VALUE_LENGTH = 32 * 1024

/**
 * Decodes application/x-www-form-urlencoded strictly: names are flat, a name given twice is refused (RFC 6749 section
 * 3.2), an empty value counts as absent.
 * @throws OAuthError 400 for a malformed, repeated or over-long field, too many fields, and U+0000
 */
export function decodeForm(text: string): Form {
  const form: Record<string, string | undefined> = Object.create(null)
  const seen = new Set<string>()
  let start = 0
  let fields = 0
  while (start <= text.length) {
    const ampersand = text.indexOf('&', start)
    const end = ampersand < 0 ? text.length : ampersand
    if (end > start) {
      if (++fields > MAX_FIELDS) throw new OAuthError('invalid_request', `more than ${MAX_FIELDS} parameters`)
      addField(form, seen, text.slice(start, end))
    }
    start = end + 1
  }
  return form
}

function addField(form: Record<string, string | undefined>, seen: Set<string>, pair: string): void {
  const equals = pair.indexOf('=')
  const name = decodePart(equals < 0 ? pair : pair.slice(0, equals))
  const value = equals < 0 ? '' : decodePart(pair.slice(equals + 1))
  if (name.length > MAX_NAME_LENGTH || value.length > MAX_VALUE_LENGTH) {
    throw new OAuthError('invalid_request', 'over-long parameter')
  }
  if (seen.has(name)) throw new OAuthError('invalid_request', 'duplicated parameter')
  seen.add(name)
  if (value !== '') form[name] = value
}

/** decodeURIComponent refuses percent-encoded surrogates and bytes that are no UTF-8. */
function decodePart(part: string): string {
  let decoded = part
  if (part.includes('+')) decoded = part.replaceAll('+', ' ')
  if (part.includes('%')) {
    try {
      decoded = decodeURIComponent(decoded)
    } catch {
      throw new OAuthError('invalid_request', 'malformed parameter')
    }
  }
  if (decoded.includes('\0')) throw new OAuthError('invalid_request', 'malformed parameter')
  return decoded
}
