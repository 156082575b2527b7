import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasPostgres14, testDatabase } from './postgres.ts'
import type { TestDatabase } from './postgres.ts'

describe.for([18, 14] as const)('a test database on PostgreSQL %i', (version) => {
  describe.skipIf(version === 14 && !hasPostgres14)('', () => {
    let database: TestDatabase
    beforeAll(async () => {
      database = await testDatabase({ version })
    })
    afterAll(() => database.drop())

    test('runs on the version asked for, in UTF8', async () => {
      const { rows } = await database.pool.query(
        `select current_setting('server_version_num')::int / 10000 as major, current_setting('server_encoding') as encoding`,
      )
      expect(rows).toEqual([{ major: version, encoding: 'UTF8' }])
    })

    test('has the schema', async () => {
      const { rows } = await database.pool.query(`select to_regclass('migrations') is not null as migrated`)
      expect(rows).toEqual([{ migrated: true }])
    })
  })
})

test('databases are separate', async () => {
  const [one, other] = await Promise.all([testDatabase(), testDatabase({ migrated: false })])
  await one.pool.query('create table only_here (id int)')
  const { rows } = await other.pool.query(`select to_regclass('only_here') as there`)
  expect(rows).toEqual([{ there: null }])
  await Promise.all([one.drop(), other.drop()])
})
