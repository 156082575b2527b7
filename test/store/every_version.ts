import { afterAll, beforeAll, describe } from 'vitest'
import { hasPostgres14, testDatabase } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'

/** Runs a suite on the newest and on the oldest PostgreSQL that is supported, each with a database of its own. */
export function describeOnEveryVersion(name: string, suite: (database: () => TestDatabase) => void): void {
  for (const version of [18, 14] as const) {
    describe.skipIf(version === 14 && !hasPostgres14)(`${name} on PostgreSQL ${version}`, () => {
      let database: TestDatabase
      beforeAll(async () => {
        database = await testDatabase({ version })
      })
      afterAll(() => database.drop())
      suite(() => database)
    })
  }
}
