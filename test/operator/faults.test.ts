import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Deposed } from '../../store/operator_epoch.ts'
import { client, password, realm, user } from './manifests.ts'
import { eventually, operatorUnderTest } from './operator_under_test.ts'
import type { OperatorUnderTest } from './operator_under_test.ts'
import { tcpProxy } from '../support/tcp_proxy.ts'
import type { TcpProxy } from '../support/tcp_proxy.ts'

const NAMES = Array.from({ length: 30 }, (_, n) => `user${n}`)

describe('an operator whose PostgreSQL goes away', () => {
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
  const isReady = async (port: number): Promise<boolean> => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok

  test('row 76: starts without it, not ready, and begins when it comes', async () => {
    proxy.cut()
    const { healthPort } = await operator.start({}, { databaseUrl: proxy.url })
    expect(await isReady(healthPort)).toBe(false)
    expect((await fetch(`http://127.0.0.1:${healthPort}/livez`)).status).toBe(200)
    proxy.mend()
    await allReady()
    expect(await isReady(healthPort)).toBe(true)
  })

  test('row 77: loses its connections in the middle of a bulk change, and converges', async () => {
    const { healthPort } = await operator.start({}, { databaseUrl: proxy.url })
    for (let cut = 0; cut < 3; cut++) {
      await sleep(60)
      proxy.cut()
      await sleep(200)
      proxy.mend()
    }
    await allReady()
    // Backends that die one by one, while their transactions are under way.
    await operator.write('users.yaml', ...NAMES.flatMap((name) => [user(name, { firstName: 'New' }), password(name)]))
    for (let kill = 0; kill < 10; kill++) {
      await operator.rows(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and application_name = 'realmkeeper-operator'`,
      )
      await sleep(20)
    }
    await allReady()
    await eventually(async () =>
      expect(await operator.rows(`select count(*)::int as count from users where first_name = 'New'`)).toEqual([
        { count: NAMES.length },
      ]),
    )
    expect(await isReady(healthPort)).toBe(true)
  })

  test('row 115: deletes while it is away wait, say so, and are done once when it is back', async () => {
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
    const said = operator.events.filter(({ reason }) => reason === 'CleanupPending').map(({ name }) => name)
    expect(new Set(said).size).toBe(said.length)
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

  test('row 120: whoever led before writes nothing any more, and says who leads', async () => {
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

  test('row 122: those that cannot be reconciled do not keep others waiting', async () => {
    await operator.write('realm.yaml', realm())
    const bad = NAMES.map((name) => user(`${name}-bad`, { username: 'x'.repeat(3) + name }))
    await operator.write('bad.yaml', ...bad)
    await operator.start()
    await operator.untilReady('User', 'user0-bad', 'False', 'SecretNotFound')
    // Nothing that is written there is to be had: the operator fails at them again and again.
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

  test('what waits for its realm is said once that lasts, and costs no write of status when it is over soon', async () => {
    await operator.write('users.yaml', ...NAMES.flatMap((name) => [user(name), password(name)]))
    await operator.write('realm.yaml', realm('shop', { tokens: { signingAlgorithm: 'RS256' } }))
    await operator.start()
    for (const name of NAMES) await operator.untilReady('User', name)
    // One for the object, one for its finalizer, one for its status.
    const versions = await operator.stateLines('User')
    expect(versions).toBe(3 * NAMES.length)
  })
})
