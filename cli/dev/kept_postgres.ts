import { startEmbeddedPostgres } from './embedded_postgres.ts'
import type { EmbeddedPostgres } from './embedded_postgres.ts'

export interface KeepOptions {
  say: (line: string) => void
  lookMillis?: number
  /** Somebody may have stopped it to see what then happens, and start it again. */
  patienceMillis?: number
}

/**
 * A PostgreSQL that is started again, on the same port, when it went and does not come back by itself. Throws
 * EmbeddedPostgresError when it does not start the first time.
 */
export async function keepPostgres(
  directory: string,
  { say, lookMillis = 2_000, patienceMillis = 30_000 }: KeepOptions,
): Promise<EmbeddedPostgres> {
  const postgres = await startEmbeddedPostgres({ directory })
  let goneSince: number | undefined
  let looking: Promise<void> | undefined

  async function look(): Promise<void> {
    if (await postgres.isRunning()) {
      goneSince = undefined
      return
    }
    if (goneSince === undefined) {
      goneSince = performance.now()
      say(`PostgreSQL is gone; it is started again in ${patienceMillis / 1000} s if it does not come back`)
    }
    if (performance.now() - goneSince < patienceMillis) return
    await startEmbeddedPostgres({ directory, port: postgres.port })
    say('PostgreSQL is running again')
  }

  const timer = setInterval(() => {
    looking ??= look()
      .catch((error: unknown) => say(error instanceof Error ? error.message : String(error)))
      .finally(() => {
        looking = undefined
      })
  }, lookMillis)
  return {
    ...postgres,
    async stop() {
      clearInterval(timer)
      await looking
      await postgres.stop()
    },
  }
}
