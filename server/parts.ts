import { availableParallelism } from 'node:os'
import type { ServerConfig } from '../process/settings.ts'
import { findLiveSessions } from '../store/live_sessions.ts'
import { rotateSessions } from '../store/sessions.ts'
import { followChanges } from './realms/change_follower.ts'
import type { ChangeFollower } from './realms/change_follower.ts'
import type { Deps } from './deps.ts'
import { createFailedDecrypts } from './encryption/failed_decrypts.ts'
import { createKeyrings } from './keyrings/keyrings.ts'
import type { Keyrings } from './keyrings/keyrings.ts'
import type { KeyringSource } from './keyrings/keyring_source.ts'
import { createPasswords } from './passwords/passwords.ts'
import { createLoginLimit } from './passwords/rate_limit.ts'
import { createRealmMirror } from './realms/realm_mirror.ts'
import type { RealmMirror } from './realms/realm_mirror.ts'
import { createRealms } from './realms/realms.ts'
import { startReplicaHeartbeat } from './replica_heartbeat.ts'
import { requireSchema } from './schema_check.ts'
import { shareStatements } from './sessions/shared_statements.ts'
import { createVerifiedTokens } from './tokens/verified_tokens.ts'

/** Everything of a server that is not HTTP, running. */
export interface Parts {
  deps: Deps
  keyrings: Keyrings
  mirror: RealmMirror
  follower: ChangeFollower
  stop(): Promise<void>
}

export interface PartsOptions extends Pick<Deps, 'pool' | 'now' | 'log'> {
  config: ServerConfig
  keyringSource: KeyringSource
  replicaId: string
}

/** The threads that libuv has for hashes and files unless told otherwise. */
const UV_THREADS = 4

/** Starts to follow the change log and the keyrings, and to say so in the table of replicas. */
export function startParts({ config, pool, keyringSource, replicaId, now, log }: PartsOptions): Parts {
  const keyrings = createKeyrings({
    source: keyringSource,
    pool,
    now,
    log,
    onLoaded: () => heartbeat.beatNow(),
  })
  const heartbeat = startReplicaHeartbeat({
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
    findLiveSession: shareStatements({ ask: (keys) => findLiveSessions(pool, keys, now()) }),
    rotateSession: shareStatements({
      ask: (rotations) => rotateSessions(pool, rotations),
      keyOf: ({ realm, sid }) => `${realm} ${sid}`,
    }),
    verifiedTokens: createVerifiedTokens(),
    failedDecrypts: createFailedDecrypts(config.failedDecryptsPerSubject),
    // More hashes at a time than cores make all of them slower; more than the threads of libuv's pool would make
    // reading a file wait behind all of them.
    passwords: createPasswords({ concurrency: Math.min(availableParallelism(), UV_THREADS), log }),
    loginLimits: {
      byAddress: createLoginLimit(config.failedLoginsPerAddress),
      byClient: createLoginLimit(config.failedLoginsPerClient),
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
