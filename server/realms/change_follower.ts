import { setTimeout as sleep } from 'node:timers/promises'
import { Client, DatabaseError } from 'pg'
import type { Logger } from 'pino'
import { CHANGES_CHANNEL } from '../../store/changes.ts'
import type { Db } from '../../store/db.ts'

export interface FollowerOptions {
  connectionString: string
  log: Logger
  /** Brings what is remembered up to date. Called once a second, whenever a notification comes, and never twice at a time. */
  catchUp: (db: Db) => Promise<void>
}

/** Keeps a process up to date with the change log, over a connection of its own that it replaces when it dies. */
export interface ChangeFollower {
  /** True while what is remembered is at most two seconds behind. */
  isFresh: () => boolean
  /** Resolves when `catchUp` succeeded for the first time. */
  caughtUp: Promise<void>
  stop(): Promise<void>
}

const POLL_MILLIS = 1_000
/** How old the last look at the log may be. Longer than a poll and its answer, shorter than anybody may wait for an edit. */
const FRESH_MILLIS = 2_000
const LONGEST_PAUSE_MILLIS = 2_000

export function followChanges({ connectionString, log, catchUp }: FollowerOptions): ChangeFollower {
  const stopping = new AbortController()
  let lookedAt = Number.NEGATIVE_INFINITY
  let failures = 0
  let isAway = false
  const { promise: caughtUp, resolve: setCaughtUp } = Promise.withResolvers<void>()

  async function look(db: Db): Promise<void> {
    // Taken before the question: what was committed afterwards may be missing from the answer.
    const started = performance.now()
    await catchUp(db)
    lookedAt = started
    failures = 0
    if (isAway) log.info('the change log is followed again')
    isAway = false
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
        await look(client)
        const { promise: woken, resolve } = Promise.withResolvers<void>()
        wake = resolve
        if (!isWoken && !lost) await Promise.race([woken, pause(POLL_MILLIS)])
        if (lost) throw lost
      }
    } finally {
      client.end().catch(() => {})
    }
  }

  /** Where there is no LISTEN, the log is looked at once a second all the same. */
  async function listen(client: Client): Promise<void> {
    await client.query(`listen ${CHANGES_CHANNEL}`).catch((error: unknown) => {
      if (!(error instanceof DatabaseError)) throw error
      log.info({ err: error }, 'there is no LISTEN here: the change log is read once a second')
    })
  }

  async function pause(millis: number): Promise<void> {
    await sleep(millis, undefined, { signal: stopping.signal }).catch(() => {})
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await followOnce().catch((error: unknown) => {
        if (!isAway && !stopping.signal.aborted)
          log.warn({ err: error }, 'the change log cannot be followed; trying again')
        isAway = true
      })
      failures += 1
      // Replicas that lost the same Postgres do not come back in step.
      await pause(Math.min(LONGEST_PAUSE_MILLIS, 50 * 2 ** Math.min(failures, 10)) * (0.5 + Math.random() / 2))
    }
  }

  const running = run()
  return {
    isFresh: () => performance.now() - lookedAt < FRESH_MILLIS,
    caughtUp,
    async stop() {
      stopping.abort()
      lookedAt = Number.NEGATIVE_INFINITY
      await running
    },
  }
}
