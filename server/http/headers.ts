import type { ClientRow } from '../../store/clients.ts'
import type { HttpMiddleware } from './state.ts'

const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'SAMEORIGIN',
}

/** Headers of every answer. `isHttps`: clients reach the server by https, so it may tell them that they always must. */
export function securityHeaders(isHttps: boolean): Readonly<Record<string, string>> {
  return isHttps ? { ...SECURITY_HEADERS, 'Strict-Transport-Security': 'max-age=31536000' } : SECURITY_HEADERS
}

const ORIGIN = /^https?:\/\/[a-z0-9._:[\]-]{1,504}$/

/** Headers of an answer that a page of any origin may read; it holds nothing of a user. */
const ANY_ORIGIN: Readonly<Record<string, string>> = { 'Access-Control-Allow-Origin': '*' }

/**
 * Sets the security headers, Cache-Control (caches may store public documents for five minutes, and nothing else) and
 * CORS: pages of other origins may read public answers, and the answers to an authenticated client that lists the origin.
 */
export function responseHeaders(always: Readonly<Record<string, string>>, isDraining: () => boolean): HttpMiddleware {
  return async (ctx, next) => {
    ctx.set(always)
    await next()
    const { isPublic, client } = ctx.state
    // A draining server closes each connection with its next answer. The rest of a body is not read after the answer.
    if (isDraining() || !ctx.req.complete) ctx.set('Connection', 'close')
    if (isPublic && ctx.status === 200) {
      ctx.set('Cache-Control', 'public, max-age=300')
    } else {
      ctx.set('Cache-Control', 'no-store')
      ctx.set('Pragma', 'no-cache')
    }
    const cors = isPublic ? ANY_ORIGIN : clientOriginHeaders(ctx.req.headers.origin, client)
    if (cors) ctx.set(cors)
  }
}

/** An origin is compared as a whole; `null`, which any sandboxed page may send, never matches. */
function clientOriginHeaders(
  origin: string | undefined,
  client: ClientRow | undefined,
): Readonly<Record<string, string>> | undefined {
  if (origin === undefined || !client?.settings.webOrigins.includes(origin) || !ORIGIN.test(origin)) return undefined
  return {
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Allow-Credentials': 'true',
    Vary: 'Origin',
  }
}

/** A preflight names no client, so every origin gets an answer; the answer to the real request decides. */
export function preflightHeaders(
  origin: string | undefined,
  { methods, isPublic }: { methods: string; isPublic: boolean },
): Record<string, string> {
  if (isPublic) return { ...ANY_ORIGIN, 'Access-Control-Allow-Methods': methods }
  if (origin === undefined || !ORIGIN.test(origin)) return { Allow: methods }
  return {
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Allow-Credentials': 'true',
    'Access-Control-Allow-Methods': methods,
    'Access-Control-Allow-Headers': 'Authorization, Content-Type',
    'Access-Control-Max-Age': '3600',
    Vary: 'Origin',
  }
}
