/** What an Authorization header of the scheme Basic holds. Each part has one or two readings. */
export interface BasicCredentials {
  /** The form-url-decoded reading (RFC 6749 section 2.3.1) first, then the raw one, which some clients send. */
  ids: string[]
  secrets: string[]
}

/** RFC 7617. Undefined when the header is of another scheme or absent, 'malformed' when it names no client. */
export function parseBasicCredentials(authorization: string | undefined): BasicCredentials | 'malformed' | undefined {
  if (authorization === undefined || !/^basic(?:\s|$)/i.test(authorization)) return undefined
  const text = decodeBase64(authorization.slice(5).trim())
  const colon = text?.indexOf(':') ?? -1
  if (text === undefined || colon < 1 || hasControls(text)) return 'malformed'
  return { ids: readings(text.slice(0, colon)), secrets: readings(text.slice(colon + 1)) }
}

function decodeBase64(encoded: string): string | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return undefined
  const bytes = Buffer.from(encoded, 'base64')
  if (bytes.toString('base64').replace(/=+$/, '') !== encoded.replace(/=+$/, '')) return undefined
  try {
    return UTF8.decode(bytes)
  } catch {
    return undefined
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function hasControls(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- RFC 7617 section 2: neither part may hold control characters
  return /[\u0000-\u001f\u007f]/.test(text)
}

function readings(raw: string): string[] {
  if (!/[%+]/.test(raw)) return [raw]
  try {
    const decoded = decodeURIComponent(raw.replaceAll('+', ' '))
    return decoded === raw ? [raw] : [decoded, raw]
  } catch {
    return [raw]
  }
}
