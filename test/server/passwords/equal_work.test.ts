import argon2 from 'argon2'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { hashParameters } from '../../../store/password_hash.ts'
import { createPasswords } from '../../../server/passwords/passwords.ts'
import type { Passwords } from '../../../server/passwords/passwords.ts'
import { parametersInUse, textOf } from '../../../server/passwords/parameters_in_use.ts'
import { testDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'
import { hashPassword, testWorld } from '../../support/world.ts'

const FORMER = { memoryKiB: 1_024, iterations: 1, parallelism: 1 }
const PRESENT = { memoryKiB: 2_048, iterations: 3, parallelism: 1 }

let database: TestDatabase
let stored: Record<'former' | 'present', string>
beforeAll(async () => {
  database = await testDatabase()
  const world = testWorld(database, '')
  stored = { former: await hashPassword('right', FORMER), present: await hashPassword('right', PRESENT) }
  await world.addRealm({ realm: 'acme', passwordHashing: PRESENT }, null)
  for (const [username, passwordHash] of Object.entries(stored)) {
    await world.addUser({ realm: 'acme', username, passwordHash, passwordSource: 'test' })
  }
  await world.addUser({ realm: 'acme', username: 'damaged', passwordHash: 'no hash', passwordSource: 'test' })
})
afterAll(() => database.drop())
afterEach(() => vi.restoreAllMocks())

function passwords(): Passwords {
  return createPasswords({ concurrency: 2, inUse: parametersInUse(database.pool), log: pino({ level: 'silent' }) })
}

/** The parameters of the hashes that a check computes, in their order, and its result. */
async function work(hash: string | null, password: string): Promise<{ computed: string[]; isRight: boolean }> {
  const computed: string[] = []
  const { verify } = argon2
  vi.spyOn(argon2, 'verify').mockImplementation((digest, ...rest) => {
    const parameters = hashParameters(digest)
    computed.push(parameters ? textOf(parameters) : digest)
    return verify(digest, ...rest)
  })
  const isRight = await passwords().enter('acme', PRESENT).verify(hash, password)
  vi.restoreAllMocks()
  return { computed, isRight }
}

test('row 135: after the parameters changed, every name costs the same hashes', async () => {
  const both = [textOf(FORMER), textOf(PRESENT)].toSorted()
  expect(await work(null, 'wrong')).toEqual({ computed: both, isRight: false })
  expect(await work('damaged', 'wrong')).toEqual({ computed: both, isRight: false })
  for (const hash of [stored.former, stored.present]) {
    expect(await work(hash, 'wrong')).toEqual({ computed: both, isRight: false })
    expect(await work(hash, 'right')).toEqual({ computed: both, isRight: true })
  }
})

test('once no hash has the former parameters, they cost nothing', async () => {
  await database.pool.query(`update users set password_hash = $1 where username = 'former'`, [stored.present])
  expect(await work(null, 'wrong')).toEqual({ computed: [textOf(PRESENT)], isRight: false })
})

test('a row above the bounds, stored under a former version, renews a hash within them', async () => {
  const renewed = await passwords().renew('acme', stored.former, 'right', {
    memoryKiB: 65_536,
    iterations: 32,
    parallelism: 1,
  })
  expect(hashParameters(renewed ?? '')).toEqual({ memoryKiB: 65_536, iterations: 8, parallelism: 1 })
})
