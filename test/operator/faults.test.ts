import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Deposed } from '../../store/operator/epoch.ts'
import { client, password, realm, user } from './manifests.ts'
import { eventually, operatorUnderTest } from './operator_under_test.ts'
import type { OperatorUnderTest } from './operator_under_test.ts'
import { tcpProxy } from '../support/tcp_proxy.ts'
import type { TcpProxy } from '../support/tcp_proxy.ts'

const NAMES = Array.from({ length: 30 }, (_, n) => `user${n}`)

describe('an operator without PostgreSQL', () => {
  let operator: OperatorUnderTest
  let proxy: TcpProxy
  beforeEach(async () => {
    operator = await operatorUnderTest()
    proxy = await tcpProxy(operator.database.url)
    await operator.write('realm.yaml', realm())
    await operator.write('users.yaml', ...NAMES.flatMap((name) => [user(name), password(name)]))
  })
  afterEach(async () => {
    await operator.end()
    await proxy.close()
  })
  const allReady = async (): Promise<void> => {
    for (const name of NAMES) await operator.untilReady('User', name)
  }
  const userCount = async (): Promise<number> =>
    (await operator.rows<{ count: number }>('select count(*)::int as count from users'))[0]?.count ?? 0
  const isReady = async (port: number): Promise<boolean> => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok

  test('row 76: starts, is not ready, and reconciles when PostgreSQL answers', async () => {
    proxy.cut()
    const { healthPort } = await operator.start({}, { databaseUrl: proxy.url })
    expect(await isReady(healthPort)).toBe(false)
    expect((await fetch(`http://127.0.0.1:${healthPort}/livez`)).status).toBe(200)
    const { checks } = JSON.parse(await (await fetch(`http://127.0.0.1:${healthPort}/readyz`)).text())
    expect(checks.postgres).toBe('failed; the log of this process has the cause')
    proxy.mend()
    await allReady()
    expect(await isReady(healthPort)).toBe(true)
  })

  test('row 77: loses its connections during a bulk change, and converges', async () => {
    const { healthPort } = await operator.start({}, { databaseUrl: proxy.url })
    for (const written of [3, 12, 21]) {
      await eventually(async () => expect(await userCount()).toBeGreaterThanOrEqual(written), { every: 2 })
      proxy.cut()
      await eventually(async () => expect(await isReady(healthPort)).toBe(false))
      proxy.mend()
    }
    await allReady()
    // All backends are terminated, ten times, during transactions; each probe opens a connection again.
    await operator.write('users.yaml', ...NAMES.flatMap((name) => [user(name, { firstName: 'New' }), password(name)]))
    for (let kill = 0; kill < 10; kill++) {
      await operator.rows(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and application_name = 'realmkeeper-operator'`,
      )
      await isReady(healthPort)
    }
    await allReady()
    await eventually(async () =>
      expect(await operator.rows(`select count(*)::int as count from users where first_name = 'New'`)).toEqual([
        { count: NAMES.length },
      ]),
    )
    expect(await isReady(healthPort)).toBe(true)
  })

  test('row 115: deletions wait, report that once, and are done when PostgreSQL answers', async () => {
    await operator.start({}, { databaseUrl: proxy.url })
    await allReady()
    proxy.cut()
    await operator.write('users.yaml', ...NAMES.slice(0, 10).flatMap((name) => [user(name), password(name)]))
    await operator.write('client.yaml', client('late'))
    await eventually(() => expect(operator.events.map(({ reason }) => reason)).toContain('CleanupPending'))
    await operator.untilReady('Client', 'late', 'Unknown', 'Reconciling')
    expect(operator.source().list('User')).toHaveLength(NAMES.length)
    proxy.mend()
    await eventually(() => expect(operator.source().list('User')).toHaveLength(10))
    await operator.untilReady('Client', 'late')
    expect(await operator.rows('select count(*)::int as count from users')).toEqual([{ count: 10 }])
    const reported = operator.events.filter(({ reason }) => reason === 'CleanupPending').map(({ name }) => name)
    expect(new Set(reported).size).toBe(reported.length)
  })
})

describe('two operators on one database', () => {
  let first: OperatorUnderTest
  let second: OperatorUnderTest
  beforeEach(async () => {
    first = await operatorUnderTest()
    second = await operatorUnderTest()
  })
  afterEach(async () => {
    await second.end()
    await first.end()
  })

  test('row 120: the former leader writes nothing more, and its error names the new leader', async () => {
    await first.write('realm.yaml', realm())
    const running = await first.start()
    await first.untilReady('Realm', 'shop')
    const taking = await second.start({}, { databaseUrl: first.database.url })
    await eventually(async () => expect((await fetch(`http://127.0.0.1:${taking.healthPort}/readyz`)).ok).toBe(true))

    await first.write('client.yaml', client('web'))
    const failure = await running.failed
    expect(failure).toBeInstanceOf(Deposed)
    expect(failure.message).toMatch(/^epoch \d+ is over: .* leads with epoch \d+$/)
    expect(await first.rows('select * from clients')).toEqual([])
  })
})

describe('among many resources', () => {
  let operator: OperatorUnderTest
  beforeEach(async () => {
    operator = await operatorUnderTest()
  })
  afterEach(() => operator.end())

  test('row 122: resources that fail do not delay others', async () => {
    await operator.write('realm.yaml', realm())
    const bad = NAMES.map((name) => user(`${name}-bad`, { username: 'x'.repeat(3) + name }))
    await operator.write('bad.yaml', ...bad)
    await operator.start()
    await operator.untilReady('User', 'user0-bad', 'False', 'SecretNotFound')
    // Their rows cannot be written, so each of their reconciles fails.
    await operator.rows(
      `create function refuse_bad() returns trigger language plpgsql as
         'begin if new.name like ''%-bad'' then raise exception ''no''; end if; return new; end'`,
    )
    await operator.rows('create trigger refuse_bad before insert on users for each row execute function refuse_bad()')
    await operator.write('secrets.yaml', ...NAMES.map((name) => password(`${name}-bad`)))
    await eventually(() =>
      expect(operator.log.filter(({ level }) => level === 'error').length).toBeGreaterThan(NAMES.length),
    )
    await operator.write('good.yaml', user('good'), password('good'))
    await operator.untilReady('User', 'good')
    expect(await operator.rows('select username from users')).toEqual([{ username: 'good' }])

    await operator.rows('drop trigger refuse_bad on users')
    for (const name of NAMES) await operator.untilReady('User', `${name}-bad`)
  })

  test('a short wait for the realm writes no status', async () => {
    await operator.write('users.yaml', ...NAMES.flatMap((name) => [user(name), password(name)]))
    await operator.write('realm.yaml', realm('shop', { tokens: { signingAlgorithm: 'RS256' } }))
    await operator.start()
    for (const name of NAMES) await operator.untilReady('User', name)
    // One write for the object, one for its finalizer, one for its status.
    const versions = await operator.stateLines('User')
    expect(versions).toBe(3 * NAMES.length)
  })
})
