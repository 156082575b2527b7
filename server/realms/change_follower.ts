import { setTimeout as sleep } from 'node:timers/promises'
import { Client, DatabaseError } from 'pg'
import type { Logger } from 'pino'
import { CHANGES_CHANNEL } from '../../store/changes.ts'
import type { Db } from '../../store/db.ts'

export interface FollowerOptions {
  connectionString: string
  log: Logger
  /** Reads what changed. Called once a second and with each notification, never twice at a time. */
  catchUp: (db: Db) => Promise<void>
}

/** Follows the change log over a connection of its own, which it replaces after an error. */
export interface ChangeFollower {
  /** True while the last successful `catchUp` is at most two seconds old. */
  isFresh: () => boolean
  /** Resolves when `catchUp` succeeded for the first time. */
  caughtUp: Promise<void>
  stop(): Promise<void>
}

const POLL_MILLIS = 1_000
/** Longer than a poll and its answer, shorter than the promised delay of an edit. */
const FRESH_MILLIS = 2_000
const LONGEST_PAUSE_MILLIS = 2_000

export function followChanges({ connectionString, log, catchUp }: FollowerOptions): ChangeFollower {
  const stopping = new AbortController()
  let caughtUpAt = Number.NEGATIVE_INFINITY
  let failures = 0
  let isLost = false
  const { promise: caughtUp, resolve: setCaughtUp } = Promise.withResolvers<void>()

  async function readLog(db: Db): Promise<void> {
    // Taken before the query: its result may miss what is committed afterwards.
    const started = performance.now()
    await catchUp(db)
    caughtUpAt = started
    failures = 0
    if (isLost) log.info('the change log is followed again')
    isLost = false
    setCaughtUp()
  }

  async function followOnce(): Promise<void> {
    const client = new Client({
      connectionString,
      application_name: 'realmkeeper-server-changes',
      connectionTimeoutMillis: 3_000,
      query_timeout: 3_000,
      keepAlive: true,
    })
    let wake = (): void => {}
    let isWoken = false
    let lost: Error | undefined
    client.on('notification', () => {
      isWoken = true
      wake()
    })
    client.on('error', (error) => {
      lost = error
      wake()
    })
    client.on('end', () => {
      lost ??= new Error('the connection ended')
      wake()
    })
    await client.connect()
    try {
      await listen(client)
      while (!stopping.signal.aborted) {
        isWoken = false
        await readLog(client)
        const { promise: woken, resolve } = Promise.withResolvers<void>()
        wake = resolve
        if (!isWoken && !lost) await Promise.race([woken, pause(POLL_MILLIS)])
        if (lost) throw lost
      }
    } finally {
      client.end().catch(() => {})
    }
  }

  /** Some poolers offer no LISTEN; the log is then read once a second. */
  async function listen(client: Client): Promise<void> {
    await client.query(`listen ${CHANGES_CHANNEL}`).catch((error: unknown) => {
      if (!(error instanceof DatabaseError)) throw error
      log.info({ err: error }, 'PostgreSQL refused LISTEN: the change log is read once a second')
    })
  }

  async function pause(millis: number): Promise<void> {
    await sleep(millis, undefined, { signal: stopping.signal }).catch(() => {})
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await followOnce().catch((error: unknown) => {
        if (!isLost && !stopping.signal.aborted)
          log.warn(
            { err: error },
            'the change log cannot be read: realms and clients are read from PostgreSQL for each request; trying again',
          )
        isLost = true
      })
      failures += 1
      // Jitter: replicas that lost the same Postgres must not reconnect at the same moment.
      await pause(Math.min(LONGEST_PAUSE_MILLIS, 50 * 2 ** Math.min(failures, 10)) * (0.5 + Math.random() / 2))
    }
  }

  const running = run()
  return {
    isFresh: () => performance.now() - caughtUpAt < FRESH_MILLIS,
    caughtUp,
    async stop() {
      stopping.abort()
      caughtUpAt = Number.NEGATIVE_INFINITY
      await running
    },
  }
}
