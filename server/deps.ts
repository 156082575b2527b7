import type { Logger } from 'pino'
import type { Pool } from 'pg'
import type { LiveSession, SessionKey } from '../store/live_sessions.ts'
import type { FailedDecrypts } from './encryption/failed_decrypts.ts'
import type { Realms } from './served_realm.ts'
import type { VerifiedTokens } from './tokens/verified_tokens.ts'

/** What actions are wired with, once, in `routes.ts`. */
export interface Deps {
  pool: Pool
  now: () => Date
  log: Logger
  realms: Realms
  /** Reads a session's rows; concurrent requests share a statement, none is answered from a cache. */
  findLiveSession: (key: SessionKey) => Promise<LiveSession | undefined>
  /** Access tokens whose signature was verified before: `createVerifiedTokens()`. */
  verifiedTokens: VerifiedTokens
  /** What decrypt and rewrap count together: `createFailedDecrypts(limits.failedDecryptsPerSubject)`. */
  failedDecrypts: FailedDecrypts
  /** Checks one password against an argon2id hash in the bounded queue; 503 when too much waits. */
  verifyPassword: (hash: string, password: string) => Promise<boolean>
  limits: Limits
  /** The name of this process in audit chains. */
  auditWriter: string
}

export interface Limits {
  /** Failed logins a minute from one address; 0 is off. */
  failedLoginsPerAddress: number
  /** Failed logins a minute through one authenticated confidential client; 0 is off. */
  failedLoginsPerClient: number
  /** Failed decrypts a minute for one subject; 0 is off. */
  failedDecryptsPerSubject: number
}
