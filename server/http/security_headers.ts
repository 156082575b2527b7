/** What every answer says, also to what never became a request. */
const ALWAYS: Readonly<Record<string, string>> = {
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'SAMEORIGIN',
}

/** `isHttps`: clients reach us by https; only then may we say that they always must. */
export function securityHeaders(isHttps: boolean): Readonly<Record<string, string>> {
  return isHttps ? { ...ALWAYS, 'Strict-Transport-Security': 'max-age=31536000' } : ALWAYS
}
