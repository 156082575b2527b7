import type { Logger } from 'pino'
import type { Pool } from 'pg'
import { beat, removeReplica } from '../store/replicas.ts'

const BEAT_MILLIS = 5_000

/** Writes which keys this process holds. The operator activates a key only when every live replica holds it. */
export interface Heartbeat {
  /** Writes at once, because the loaded keys have changed. */
  beatNow(): void
  /** Removes the replica, so that no key waits for it. */
  stop(): Promise<void>
}

export interface HeartbeatOptions {
  id: string
  pool: Pool
  now: () => Date
  log: Logger
  fingerprints: () => Record<string, string[]>
  /** Called before every beat. */
  onBeat: () => void
}

export function startHeartbeat({ id, pool, now, log, fingerprints, onBeat }: HeartbeatOptions): Heartbeat {
  let beating: Promise<void> | undefined
  let isDue = false
  let isStopped = false

  /** One write at a time. Requests during a write cause one more. */
  async function beatWhileDue(): Promise<void> {
    while (isDue) {
      isDue = false
      await beat(pool, { id, fingerprints: fingerprints() }, 'server', now()).catch((error: unknown) =>
        log.debug({ err: error }, 'the heartbeat was not written'),
      )
    }
  }

  function beatNow(): void {
    if (isStopped) return
    isDue = true
    beating ??= beatWhileDue().finally(() => {
      beating = undefined
    })
  }

  const timer = setInterval(() => {
    onBeat()
    beatNow()
  }, BEAT_MILLIS)
  beatNow()

  return {
    beatNow,
    async stop() {
      isStopped = true
      clearInterval(timer)
      await beating
      await removeReplica(pool, id).catch(() => {})
    },
  }
}
