import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { shareStatements } from '../../../server/sessions/shared_statements.ts'
import type { Db } from '../../../store/db.ts'
import { findLiveSessions } from '../../../store/sessions/live_sessions.ts'
import type { SessionKey } from '../../../store/sessions/live_sessions.ts'
import { endSession } from '../../../store/sessions/sessions.ts'
import { insertSession } from '../../support/sessions.ts'
import { testDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'
import { newSession } from '../../support/rows.ts'

const now = (): Date => new Date()
let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.drop())

const reader = (db: Db = database.pool) =>
  shareStatements({ ask: (keys: SessionKey[]) => findLiveSessions(db, keys, now()) })

/** The real pool, and how often it was asked. */
function counted(): { db: Db; statements: () => number } {
  let statements = 0
  const db: Db = {
    query: (text, values) => {
      statements += 1
      return typeof text === 'string' ? database.pool.query(text, values) : database.pool.query(text)
    },
  }
  return { db, statements: () => statements }
}

describe('sessions that are asked for at the same time', () => {
  test('share statements of at most a hundred, and each caller gets its own session', async () => {
    const sessions = Array.from({ length: 250 }, () => newSession(now()))
    for (const session of sessions) await insertSession(database.pool, session)
    const { db, statements } = counted()
    const read = reader(db)
    const found = await Promise.all(sessions.map(({ realm, sid }) => read({ realm, sid })))
    expect(found.map((session) => session?.sid)).toEqual(sessions.map(({ sid }) => sid))
    expect(statements()).toBe(3)
  })

  test('two callers get the same session, and a missing session is undefined', async () => {
    const session = newSession(now())
    await insertSession(database.pool, session)
    const read = reader()
    const { realm, sid } = session
    const found = await Promise.all([
      read({ realm, sid }),
      read({ realm: 'other', sid }),
      read({ realm, sid: randomUUID() }),
      read({ realm, sid }),
    ])
    expect(found.map((each) => each?.sid)).toEqual([sid, undefined, undefined, sid])
  })

  test('no answer is cached: each reflects the rows of its moment', async () => {
    const session = newSession(now())
    await insertSession(database.pool, session)
    const read = reader()
    expect(await read(session)).toMatchObject({ ended: false })
    await endSession(database.pool, session, 'logout', now())
    expect(await read(session)).toMatchObject({ ended: true })
  })

  test('an error of the statement rejects every caller in it, and no later one', async () => {
    const session = newSession(now())
    await insertSession(database.pool, session)
    const read = reader()
    const both = await Promise.allSettled([read(session), read({ realm: 'acme', sid: 'not a uuid' })])
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(await read(session)).toMatchObject({ sid: session.sid })
  })
})
