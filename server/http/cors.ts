import type { ClientRow } from '../../store/clients.ts'

const ORIGIN = /^https?:\/\/[a-z0-9._:[\]-]{1,504}$/

/** Headers of an answer that anybody's page may read; it holds nothing of a user. */
export const ANY_ORIGIN: Readonly<Record<string, string>> = { 'Access-Control-Allow-Origin': '*' }

/**
 * Headers that let a page of `origin` read an answer: only where the client that the request proved lists the origin.
 * An origin is compared as a whole; `null`, which any sandboxed page may send, is never listed.
 */
export function corsHeaders(
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

/**
 * The answer to a preflight. It names no client, so every origin gets one; whether the page reads the real answer is
 * decided by `corsHeaders`.
 */
export function preflightHeaders(origin: string | undefined, methods: string): Record<string, string> {
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
