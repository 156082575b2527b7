import type { TokenSettings } from '../../store/realms.ts'
import { isSessionId } from '../../store/sessions/sessions.ts'

/** In characters. A longer token is not good, even with a valid signature. */
export const MAX_TOKEN_LENGTH = 16 * 1024

/** The claims of an access token that the server reads, each in the type in which it is issued. */
export interface AccessTokenClaims {
  iss: string
  sub: string
  aud: string | string[]
  azp: string
  /** Epoch seconds, as `iat`. */
  exp: number
  iat: number
  jti: string
  sid: string
  /** The words of the claim `scope`. */
  scope: readonly string[]
  /** `realm_access.roles`: the roles at the time of issue. */
  roles: readonly string[]
}

/**
 * Reads a payload whose signature was verified. Undefined unless it has `typ: "Bearer"` and every claim in its type:
 * a token of another kind is not an access token (RFC 8725 section 3.11).
 */
export function readAccessTokenClaims(payload: Readonly<Record<string, unknown>>): AccessTokenClaims | undefined {
  if (payload.typ !== 'Bearer') return undefined
  const { iss, sub, aud, azp, exp, iat, jti, sid, scope } = payload
  if (!isText(iss) || !isText(sub) || !isText(azp) || !isText(jti) || !isSessionId(sid)) return undefined
  if (!isEpochSeconds(exp) || !isEpochSeconds(iat)) return undefined
  if (!isText(aud) && !isTexts(aud)) return undefined
  const roles = readRoles(payload.realm_access)
  if (!roles || typeof scope !== 'string') return undefined
  return { iss, sub, aud, azp, exp, iat, jti, sid, scope: scope.split(' ').filter(Boolean), roles }
}

/** Whether the token is meant for this client (RFC 7519 section 4.1.3). */
export function isFor({ azp, aud }: AccessTokenClaims, clientId: string): boolean {
  return azp === clientId || (typeof aud === 'string' ? aud === clientId : aud.includes(clientId))
}

/** Every token with `realm_access` has roles in it. */
function readRoles(realmAccess: unknown): string[] | undefined {
  if (realmAccess === undefined) return []
  if (typeof realmAccess !== 'object' || realmAccess === null || !('roles' in realmAccess)) return undefined
  return isTexts(realmAccess.roles) ? realmAccess.roles : undefined
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(isText)
}

/** RFC 7519 allows fractions; this server issues none, and JSON does not hold larger numbers exactly. */
export function isEpochSeconds(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

/** Epoch seconds, rounded down: a token never states a longer lifetime than it has. */
export function epochSeconds(time: Date): number {
  return Math.floor(time.getTime() / 1000)
}

/**
 * The realm's `notBefore` in epoch seconds, 0 when there is none: a token with a lower `iat` is not good. Rounded up,
 * because `iat` has no fractions: no token issued before that moment passes.
 */
export function notBeforeSeconds({ notBefore }: Pick<TokenSettings, 'notBefore'>): number {
  return notBefore === undefined ? 0 : Math.ceil(Date.parse(notBefore) / 1000)
}
