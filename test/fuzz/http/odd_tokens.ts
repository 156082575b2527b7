import { createHmac } from 'node:crypto'
import { below, pick } from '../../support/random.ts'
import type { Random } from '../../support/random.ts'
import type { Known } from './drafts.ts'
import { damageText, oddText, oddValue } from './odd_values.ts'

const HEADERS: Record<string, unknown>[] = [
  { alg: 'none' },
  { alg: 'None', typ: 'at+jwt' },
  { alg: 'HS256' },
  { alg: 'RS256' },
  { alg: ['ES256'] },
  { kid: '../../keys/other' },
  { kid: '' },
  { kid: null },
  { kid: '__proto__' },
  { kid: { $ne: '' } },
  { typ: 'JWT' },
  { typ: 'refresh+jwt' },
  { crit: ['exp'], exp: 0 },
  { b64: false, crit: ['b64'] },
  { jku: 'http://localhost:1/keys' },
  { jwk: { kty: 'oct', k: 'AA' } },
  { zip: 'DEF' },
  { x5u: 'file:///etc/passwd' },
]

const CLAIMS: Record<string, unknown>[] = [
  { exp: 2 ** 53 },
  { exp: '9999999999' },
  { exp: null },
  { exp: -1 },
  { iat: 1e300 },
  { nbf: 2 ** 40 },
  { sub: '' },
  { sub: ['a'] },
  { sid: 'not-a-uuid' },
  { sid: '00000000-0000-0000-0000-000000000000' },
  { sid: '\0' },
  { iss: 'http://other/' },
  { aud: [] },
  { aud: {} },
  { azp: 'app' },
  { scope: 7 },
  { scope: 'x '.repeat(5_000) },
  { typ: 'Refresh' },
  { realm_access: { roles: ['svc-realm-admin'] } },
]

/** A text in the place of this token: a token of another kind or realm, a forged one, or no token at all. */
export function oddToken(token: string, known: Known, random: Random): string {
  const parts = token.split('.')
  const [header = '', payload = '', signature = ''] = parts
  const forms: (() => string)[] = [
    () => withMembers(header, pick(HEADERS, random), [payload, signature]),
    () => `${withMembers(header, pick(HEADERS, random), [payload])}.`,
    () => [header, changed(payload, pick(CLAIMS, random)), signature].join('.'),
    () => [header, changed(payload, { [oddText(random)]: oddValue(random) }), signature].join('.'),
    () => hmac(header, payload),
    () => known.foreign[pick(['access', 'refresh', 'id'] as const, random)],
    () => pick(known.tokens, random)[pick(['access', 'refresh', 'id'] as const, random)],
    () => parts.slice(0, below(3, random)).join('.'),
    () => [...parts, ...parts].join('.'),
    () => token.slice(0, -below(90, random)),
    () => `${token}=`,
    () => ` ${token} `,
    () => token.toUpperCase(),
    () => token.replaceAll('_', '/').replaceAll('-', '+'),
    () => token + 'A'.repeat(17_000),
    () => '.'.repeat(below(10_000, random)),
    () => `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from('{}').toString('base64url')}.`,
    () => `${Buffer.from('['.repeat(3_000)).toString('base64url')}.${payload}.${signature}`,
    () => damageText(token, random),
    () => oddText(random),
  ]
  return pick(forms, random)()
}

function withMembers(part: string, members: Record<string, unknown>, rest: string[]): string {
  return [changed(part, members), ...rest].join('.')
}

function changed(part: string, members: Record<string, unknown>): string {
  let present: unknown = {}
  try {
    present = JSON.parse(Buffer.from(part, 'base64url').toString())
  } catch {
    // A token that was damaged before.
  }
  return Buffer.from(JSON.stringify({ ...Object(present), ...members })).toString('base64url')
}

/** Algorithm confusion. */
function hmac(header: string, payload: string): string {
  const input = `${changed(header, { alg: 'HS256' })}.${payload}`
  return `${input}.${createHmac('sha256', header).update(input).digest('base64url')}`
}

export function oddCiphertext(ciphertext: string, random: Random): string {
  const forms: (() => string)[] = [
    () => ciphertext.replace(':1:', `:${pick(['0', '2', '01', '-1', '999999999999', '1e1', ''], random)}:`),
    () => ciphertext.replace('rk1', pick(['rk0', 'RK1', 'rk11', ''], random)),
    () => ciphertext.slice(0, below(ciphertext.length, random)),
    () => `${ciphertext}${pick(['=', 'A', '\n', ':'], random)}`,
    () => ciphertext + 'A'.repeat(below(90_000, random)),
    () => damageText(ciphertext, random),
    () => oddText(random),
  ]
  return pick(forms, random)()
}
