import { availableParallelism } from 'node:os'
import type { Logger } from 'pino'
import type { Pool } from 'pg'
import { threadPoolSize } from '../process/config.ts'
import type { ServerConfig } from '../process/settings.ts'
import { requireSchema } from '../store/schema/migrate.ts'
import { findLiveSessions } from '../store/sessions/live_sessions.ts'
import type { LiveSession, SessionKey } from '../store/sessions/live_sessions.ts'
import { countLoginAttempts, loginAttemptKey } from '../store/sessions/login_failures.ts'
import type { LoginAttempt } from '../store/sessions/login_failures.ts'
import { rotateSessions } from '../store/sessions/rotation.ts'
import type { Rotated, Rotation, RotationRefused } from '../store/sessions/rotation.ts'
import { createFailureLimiter } from './failure_limiter.ts'
import type { FailureLimiter } from './failure_limiter.ts'
import { createKeyrings } from './keyrings/keyrings.ts'
import type { Keyrings } from './keyrings/keyrings.ts'
import type { KeyringSource } from './keyrings/keyring_source.ts'
import { createPasswords, hashConcurrency } from './passwords/passwords.ts'
import type { Passwords } from './passwords/passwords.ts'
import { parametersInUse } from './passwords/parameters_in_use.ts'
import { followChanges } from './realms/change_follower.ts'
import type { ChangeFollower } from './realms/change_follower.ts'
import { createRealmMirror } from './realms/realm_mirror.ts'
import type { RealmMirror } from './realms/realm_mirror.ts'
import { createRealms } from './realms/realms.ts'
import type { Realms } from './realms/realms.ts'
import { startHeartbeat } from './heartbeat.ts'
import { shareStatements } from './sessions/shared_statements.ts'
import { createVerifiedTokens } from './tokens/verified_tokens.ts'
import type { VerifiedTokens } from './tokens/verified_tokens.ts'

/** What actions, grants and checks are given. */
export interface Deps {
  pool: Pool
  now: () => Date
  log: Logger
  realms: Realms
  /** Reads a session's rows; concurrent requests share a statement, none is answered from a cache. */
  findLiveSession: (key: SessionKey) => Promise<LiveSession | undefined>
  /** Spends a refresh token; concurrent requests share a statement, each with its own row. */
  rotateSession: (rotation: Rotation) => Promise<Rotated | RotationRefused>
  /**
   * Counts a login as failed and returns whether its name is locked. Attempts on one name wait for each other here: in
   * PostgreSQL each would hold a connection of the pool.
   */
  countLoginAttempt: (attempt: LoginAttempt) => Promise<boolean>
  /** Access tokens whose signature was verified before. */
  verifiedTokens: VerifiedTokens
  /** Failed decrypts and rewraps within a minute, by realm and subject. */
  failedDecrypts: FailureLimiter
  /** The bounded queue in which passwords are checked. */
  passwords: Passwords
  loginLimits: LoginLimits
  /** The name of this process in audit chains. */
  auditWriter: string
}

/** Failed logins within a minute. */
export interface LoginLimits {
  /** Callers with a public client. */
  byAddress: FailureLimiter
  /** Authenticated confidential clients, which have many users behind one address. */
  byClient: FailureLimiter
}

/** Deps, and the background work that keeps them up to date. */
export interface RunningDeps {
  deps: Deps
  keyrings: Keyrings
  mirror: RealmMirror
  follower: ChangeFollower
  /** Ends the background work and closes the pool. */
  stop(): Promise<void>
}

export interface DepsOptions extends Pick<Deps, 'pool' | 'now' | 'log'> {
  config: ServerConfig
  keyringSource: KeyringSource
  replicaId: string
}

/** Creates the deps of one process; starts to follow the change log and the keyrings, and the heartbeat. */
export function startDeps({ config, pool, keyringSource, replicaId, now, log }: DepsOptions): RunningDeps {
  const keyrings = createKeyrings({
    source: keyringSource,
    pool,
    now,
    log,
    onLoaded: () => heartbeat.beatNow(),
  })
  const heartbeat = startHeartbeat({
    id: replicaId,
    pool,
    now,
    log,
    fingerprints: keyrings.fingerprints,
    onBeat: keyrings.retryRefused,
  })
  const mirror = createRealmMirror(() => keyrings.follow(mirror.realms()))
  const follower = followChanges({
    connectionString: config.databaseUrl,
    log,
    catchUp: async (db) => {
      if (!mirror.isLoaded()) await requireSchema(db)
      await mirror.catchUp(db)
    },
  })
  const { isFresh } = follower
  const deps: Deps = {
    pool,
    now,
    log,
    realms: createRealms({ pool, baseUrl: config.baseUrl, mirror, isFresh, keyringOf: keyrings.get }),
    // A read waits for no row lock, so two statements are enough.
    findLiveSession: shareStatements({ ask: (keys) => findLiveSessions(pool, keys, now()), maxInFlight: 2 }),
    rotateSession: shareStatements({
      ask: (rotations) => rotateSessions(pool, rotations),
      keyOf: ({ realm, sid }) => `${realm} ${sid}`,
    }),
    countLoginAttempt: shareStatements({
      ask: (attempts: LoginAttempt[]) => countLoginAttempts(pool, attempts),
      keyOf: loginAttemptKey,
    }),
    verifiedTokens: createVerifiedTokens(now),
    failedDecrypts: createFailureLimiter(config.failedDecryptsPerSubject, now),
    passwords: createPasswords({
      concurrency: hashConcurrency(availableParallelism(), threadPoolSize()),
      inUse: parametersInUse(pool),
      log,
    }),
    loginLimits: {
      byAddress: createFailureLimiter(config.failedLoginsPerAddress, now),
      byClient: createFailureLimiter(config.failedLoginsPerClient, now),
    },
    auditWriter: `server/${replicaId}`,
  }
  return {
    deps,
    keyrings,
    mirror,
    follower,
    async stop() {
      await heartbeat.stop()
      await follower.stop()
      keyrings.close()
      await pool.end()
    },
  }
}
