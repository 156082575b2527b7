import { startEmbeddedPostgres } from './embedded_postgres.ts'
import type { EmbeddedPostgres } from './embedded_postgres.ts'

const LOOK_MILLIS = 2_000

/** A PostgreSQL that is started again, on the same port, when it went. Throws EmbeddedPostgresError. */
export async function keepPostgres(directory: string, say: (line: string) => void): Promise<EmbeddedPostgres> {
  const postgres = await startEmbeddedPostgres({ directory })
  let looking: Promise<void> | undefined

  async function look(): Promise<void> {
    if (await postgres.isRunning()) return
    say('PostgreSQL is gone; starting it again')
    await startEmbeddedPostgres({ directory, port: postgres.port }).catch((error: unknown) =>
      say(error instanceof Error ? error.message : String(error)),
    )
  }

  const timer = setInterval(() => {
    looking ??= look().finally(() => {
      looking = undefined
    })
  }, LOOK_MILLIS)
  return {
    ...postgres,
    async stop() {
      clearInterval(timer)
      await looking
      await postgres.stop()
    },
  }
}
