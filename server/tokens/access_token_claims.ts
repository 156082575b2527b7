/** The claims of an access token of ours, each of the type that we write. Other members are carried by nobody. */
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
  /** `realm_access.roles`: the roles as they were when the token was made. */
  roles: readonly string[]
}

/**
 * Reads a payload whose signature was verified. Undefined unless it says `typ: "Bearer"` and every claim is there in
 * its type: what we did not write as an access token is none (RFC 8725 section 3.11).
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

/** No token of ours carries `realm_access` without roles. */
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

/** RFC 7519 allows fractions; we write none, and a number that JSON cannot hold exactly is not a time. */
function isEpochSeconds(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

const SESSION_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Anything else would be refused by Postgres, for every request that shares the statement. */
function isSessionId(value: unknown): value is string {
  return typeof value === 'string' && SESSION_ID.test(value)
}
