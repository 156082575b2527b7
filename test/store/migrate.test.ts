import { afterEach, expect, it } from 'vitest'
import { knownMigrations, migrate, schemaState } from '../../store/schema/migrate.ts'
import type { Migration } from '../../store/schema/migrate.ts'
import { testDatabase } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'

let database: TestDatabase
afterEach(() => database.drop())

const next = (known: Migration[], change: Partial<Migration>): Migration[] => [
  ...known,
  {
    id: (known.at(-1)?.id ?? 0) + 1,
    name: 'next',
    breaking: false,
    sql: 'create table next_table (id integer)',
    ...change,
  },
]

it('row 85: of several processes that migrate at once one does the work', async () => {
  database = await testDatabase({ migrated: false })
  expect(await schemaState(database.pool)).toBe('behind')
  const applied = await Promise.all(Array.from({ length: 5 }, () => migrate(database.url)))
  const known = await knownMigrations()
  expect(applied.filter((names) => names.length > 0)).toEqual([known.map(({ name }) => name)])
  expect(await schemaState(database.pool)).toBe('current')
})

it('row 85: a migration that fails or is killed in its middle leaves nothing of itself, and is done next time', async () => {
  database = await testDatabase({ migrated: false })
  const known = await knownMigrations()
  const broken = next(known, { sql: 'create table half_done (id integer); select 1/0' })
  await expect(migrate(database.url, { migrations: broken })).rejects.toThrow('division by zero')
  const { rows } = await database.pool.query(`select to_regclass('half_done') as half, to_regclass('realms') as whole`)
  expect(rows).toEqual([{ half: null, whole: 'realms' }])
  expect(await migrate(database.url, { migrations: next(known, {}) })).toEqual(['next'])
})

it('row 85: waits while the schema is behind', async () => {
  database = await testDatabase()
  expect(await schemaState(database.pool, next(await knownMigrations(), {}))).toBe('behind')
})

it('row 85: an older process works on a newer schema, but not past a breaking mark', async () => {
  database = await testDatabase()
  const known = await knownMigrations()
  await migrate(database.url, { migrations: next(known, {}) })
  expect(await schemaState(database.pool)).toBe('current')
  await migrate(database.url, { migrations: next(next(known, {}), { breaking: true, name: 'break', sql: 'select 1' }) })
  const message = new RegExp(`schema version ${known.length + 2} \\(break\\).*know only version ${known.length} `)
  await expect(schemaState(database.pool)).rejects.toThrow(message)
  await expect(migrate(database.url)).rejects.toThrow(message)
})

it('numbers its files without a gap', async () => {
  database = await testDatabase()
  const known = await knownMigrations()
  expect(known.map(({ id }) => id)).toEqual(known.map((_, i) => i + 1))
})
