import type { Logger } from 'pino'
import type { Pool } from 'pg'
import type { LiveSession, SessionKey } from '../store/live_sessions.ts'
import type { Rotated, Rotation, RotationRefused } from '../store/sessions.ts'
import type { FailedDecrypts } from './encryption/failed_decrypts.ts'
import type { Passwords } from './passwords/passwords.ts'
import type { LoginLimit } from './passwords/rate_limit.ts'
import type { Realms } from './realms/served_realm.ts'
import type { VerifiedTokens } from './tokens/verified_tokens.ts'

/** What actions are wired with, once, in `routes.ts`. */
export interface Deps {
  pool: Pool
  now: () => Date
  log: Logger
  realms: Realms
  /** Reads a session's rows; concurrent requests share a statement, none is answered from a cache. */
  findLiveSession: (key: SessionKey) => Promise<LiveSession | undefined>
  /** Spends a refresh token; concurrent requests share a statement, each with its own row. */
  rotateSession: (rotation: Rotation) => Promise<Rotated | RotationRefused>
  /** Access tokens whose signature was verified before: `createVerifiedTokens()`. */
  verifiedTokens: VerifiedTokens
  /** What decrypt and rewrap count together: `createFailedDecrypts(limits.failedDecryptsPerSubject)`. */
  failedDecrypts: FailedDecrypts
  /** The bounded queue in which passwords are checked. */
  passwords: Passwords
  /** What logins through every client count together. */
  loginLimits: LoginLimits
  /** The name of this process in audit chains. */
  auditWriter: string
}

/** Failed logins within a minute, by who called. */
export interface LoginLimits {
  byAddress: LoginLimit
  /** Authenticated confidential clients, which have many users behind one address. */
  byClient: LoginLimit
}
