import type { Pool } from 'pg'
import { expect, it } from 'vitest'
import { createPool, inTransaction, isUnavailable } from '../../store/db.ts'
import { Deposed, inFencedTransaction, takeEpoch } from '../../store/operator/epoch.ts'
import { databaseLine } from '../support/database_line.ts'
import { describeOnEveryVersion } from './every_version.ts'

describeOnEveryVersion('connections', (database) => {
  const terminateOthers = async (): Promise<void> => {
    await database().pool.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    )
  }

  it('row 77: a backend that dies under a checked-out client is an error of that query, and the pool goes on', async () => {
    const { pool } = database()
    const work = inTransaction(pool, async (db) => {
      await db.query('select 1')
      await terminateOthers()
      await db.query('select 2')
    })
    const error = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    expect(isUnavailable(error)).toBe(true)
    expect((await pool.query('select 3 as three')).rows).toEqual([{ three: 3 }])
    await expect.poll(() => pool.totalCount - pool.idleCount).toBe(0)
  })

  it('tells "not now" from "never"', async () => {
    const { pool } = database()
    const failure = (text: string): Promise<unknown> => pool.query(text).then(undefined, (error: unknown) => error)
    const raise = (code: string): Promise<unknown> =>
      failure(`do $$ begin raise exception 'x' using errcode = '${code}'; end $$`)
    for (const code of ['40001', '40P01', '53300', '53100', '57P01', '57014', '25006', '08006', '55P03']) {
      expect([code, isUnavailable(await raise(code))]).toEqual([code, true])
    }
    for (const code of ['23505', '22021', '42P01']) {
      expect([code, isUnavailable(await raise(code))]).toEqual([code, false])
    }
    const thrownBy = (work: () => unknown): unknown => {
      try {
        return work()
      } catch (error) {
        return error
      }
    }
    // Node gives its own errors codes as well, and words are parts of others.
    for (const fault of [
      new TypeError('x is not a function'),
      thrownBy(() => Buffer.alloc(-1)),
      thrownBy(() => new URL('/')),
      new Error('Object is not extended'),
    ]) {
      expect([String(fault), isUnavailable(fault)]).toEqual([String(fault), false])
    }
    const gone = Object.assign(new Error('Cannot call write after a stream was destroyed'), {
      code: 'ERR_STREAM_DESTROYED',
    })
    // As node-postgres words them.
    for (const error of [
      gone,
      new Error('Connection terminated unexpectedly'),
      new Error('Client has encountered a connection error and is not queryable'),
      new Error('There was an error establishing an SSL connection'),
      new Error('Query read timeout'),
    ]) {
      expect([String(error), isUnavailable(error)]).toEqual([String(error), true])
    }
  })

  it('a transaction rolls back as a whole', async () => {
    const { pool } = database()
    await pool.query('create table if not exists rolled_back (id integer)')
    const work = inTransaction(pool, async (db) => {
      await db.query('insert into rolled_back values (1)')
      throw new Error('changed my mind')
    })
    await expect(work).rejects.toThrow('changed my mind')
    expect((await pool.query('select * from rolled_back')).rows).toEqual([])
  })

  it('row 120: a deposed leader writes nothing more', async () => {
    const { pool } = database()
    const first = await takeEpoch(pool, 'first')
    expect(await inFencedTransaction(pool, first, async () => 'written')).toBe('written')
    const second = await takeEpoch(pool, 'second')
    expect(second).toBe(first + 1)
    const late = inFencedTransaction(pool, first, async () => 'written')
    await expect(late).rejects.toThrow(Deposed)
    await expect(late).rejects.toThrow(`epoch ${first} is over: second leads with epoch ${second}`)
  })

  it('row 120: a write that waited for a takeover sees who leads now', async () => {
    const { pool } = database()
    const first = await takeEpoch(pool, 'first')
    const takeover = await pool.connect()
    await takeover.query('begin')
    // What holds operators' writes back, taken as `takeEpoch` does.
    await takeover.query('select pg_advisory_xact_lock(7271002)')
    const late = inFencedTransaction(pool, first, async () => 'written').catch((error: unknown) => error)
    await eventuallyWaits(pool)
    await takeover.query(`update operator_epoch set epoch = epoch + 1, holder = 'second'`)
    await takeover.query('commit')
    takeover.release()
    expect(await late).toBeInstanceOf(Deposed)
  })

  it('row 120: a takeover waits for the write that is under way', async () => {
    const { pool } = database()
    const epoch = await takeEpoch(pool, 'first')
    const order: string[] = []
    let takeover: Promise<unknown> | undefined
    await inFencedTransaction(pool, epoch, async (db) => {
      takeover = takeEpoch(pool, 'second').then(() => order.push('taken over'))
      await new Promise((resolve) => setTimeout(resolve, 100))
      await db.query('select 1')
      order.push('written')
    })
    await takeover
    expect(order).toEqual(['written', 'taken over'])
  })
})

it('row 78: a transaction on a frozen connection is given up when a query would be: it does not wait for a rollback too', async () => {
  const line = await databaseLine()
  const pool = createPool({ connectionString: line.url, applicationName: 'test', queryTimeoutMillis: 6_000 })
  const [first, second] = await Promise.all([pool.connect(), pool.connect()])
  for (const client of [first, second]) client.release()
  line.freeze()
  const outcome = (work: Promise<unknown>) =>
    work.then(
      () => 'done',
      (error: unknown) => isUnavailable(error),
    )
  const query = outcome(pool.query('select 1'))
  const transaction = outcome(inTransaction(pool, (db) => db.query('select 1')))
  expect(await query).toBe(true)
  const late = new Promise((resolve) => setTimeout(resolve, 4_000, 'later than a query'))
  expect(await Promise.race([transaction, late])).toBe(true)
  line.mend()
  expect((await pool.query('select 2 as two')).rows).toEqual([{ two: 2 }])
  await pool.end()
  await line.drop()
})

/** Resolves when a session waits for an advisory lock. */
async function eventuallyWaits(pool: Pool): Promise<void> {
  for (let tries = 0; tries < 400; tries++) {
    const { rowCount } = await pool.query(`select from pg_locks where locktype = 'advisory' and not granted`)
    if (rowCount) return
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  throw new Error('no session waits')
}
