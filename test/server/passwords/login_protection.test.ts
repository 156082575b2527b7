import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { usernameDigest } from '../../../store/username.ts'
import type { UserRow } from '../../../store/users.ts'
import { addAcme, ALICE, SHOP_SECRET, startServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'
import { hashPassword, QUICK_HASHING } from '../../support/world.ts'

const badCredentials = { status: 401, body: { error: 'invalid_grant', error_description: 'Invalid user credentials' } }
const SLOW = { memoryKiB: 262_144, iterations: 64, parallelism: 1 }

/** For what comes a little later, on a machine that may be busy. */
const SOON = { timeout: 120_000, interval: 20 }

let server: TestServer
let aheadMillis = 0
const later = (seconds: number): void => void (aheadMillis += seconds * 1000)
beforeEach(() => {
  aheadMillis = 0
})

beforeAll(async () => {
  server = await startServer({
    now: () => new Date(Date.now() + aheadMillis),
    prepare: async (world) => {
      await addAcme(world)
      const off = {
        enabled: false,
        maxFailures: 1,
        waitIncrementSeconds: 60,
        maxWaitSeconds: 900,
        failureResetSeconds: 9,
      }
      await world.addRealm({ realm: 'trusting', bruteForce: off })
      await world.addClient({ realm: 'trusting', clientId: 'app' })
      await world.addUser({ realm: 'trusting', username: 'alice' }, ALICE.password)
      await world.addRealm({ realm: 'slow', passwordHashing: SLOW, bruteForce: off })
      await world.addClient({ realm: 'slow', clientId: 'app' })
      await world.addUser({ realm: 'slow', username: 'alice' }, ALICE.password)
    },
  })
})
afterAll(() => server.stop())

const login = (username: string, password: string) => server.token({ ...ALICE, username, password })
async function failTimes(username: string, times: number): Promise<void> {
  for (let time = 0; time < times; time++) expect(await login(username, 'wrong')).toMatchObject(badCredentials)
}

describe('row 22, 23: guessing one user’s password', () => {
  test('after ten failures even the right one is refused, without saying why, and others log in', async () => {
    await server.addUser({ username: 'target' }, 'target-password')
    await failTimes('target', 10)
    expect(await login('target', 'target-password')).toMatchObject(badCredentials)
    expect(await login('alice', ALICE.password)).toMatchObject({ status: 200 })
    later(61)
    expect(await login('target', 'target-password')).toMatchObject({ status: 200 })
  })

  test('the wait grows with every ten failures', async () => {
    await server.addUser({ username: 'patient' }, 'patient-password')
    await failTimes('patient', 10)
    // From here on each failure locks: for 60 s up to the nineteenth, for 120 s from the twentieth on.
    for (let failure = 11; failure <= 20; failure++) {
      later(61)
      await failTimes('patient', 1)
    }
    later(61)
    expect(await login('patient', 'patient-password')).toMatchObject(badCredentials)
    later(60)
    expect(await login('patient', 'patient-password')).toMatchObject({ status: 200 })
  })

  test('attempts while locked do not lengthen the wait: no lock is permanent', async () => {
    await server.addUser({ username: 'victim' }, 'victim-password')
    await failTimes('victim', 100)
    later(61)
    expect(await login('victim', 'victim-password')).toMatchObject({ status: 200 })
  })

  test('a success takes all failures back', async () => {
    await server.addUser({ username: 'clumsy' }, 'clumsy-password')
    for (let round = 0; round < 3; round++) {
      await failTimes('clumsy', 9)
      expect(await login('clumsy', 'clumsy-password')).toMatchObject({ status: 200 })
    }
  })

  test('a hundred at once are judged ten times', async () => {
    await server.addUser({ username: 'rushed' }, 'rushed-password')
    await Promise.all(Array.from({ length: 100 }, () => login('rushed', 'wrong')))
    const { rows } = await server.database.pool.query(
      'select failures from login_failures order by last_failure_at desc limit 1',
    )
    expect(rows).toEqual([{ failures: 10 }])
    expect(await login('rushed', 'rushed-password')).toMatchObject(badCredentials)
  })

  test('row 21: other spellings of the name share its lock', async () => {
    await server.addUser({ username: 'variant' }, 'variant-password')
    const spellings = ['variant', 'VARIANT', 'Variant', ' variant', 'variant ', 'ｖariant', 'vaRIANT', 'variant\u00a0']
    for (const spelling of [...spellings, 'variant', 'variant']) await failTimes(spelling, 1)
    expect(await login('VARIANT', 'variant-password')).toMatchObject(badCredentials)
  })

  test('a realm without protection locks no user', async () => {
    const log = (password: string) =>
      server.request('/auth/realms/trusting/protocol/openid-connect/token', {
        form: { ...ALICE, client_id: 'app', password },
      })
    for (let tries = 0; tries < 12; tries++) expect(await log('wrong')).toMatchObject(badCredentials)
    expect(await log(ALICE.password)).toMatchObject({ status: 200 })
  })

  test('an unknown name is counted, too', async () => {
    await failTimes('unknown-user', 10)
    await server.addUser({ username: 'unknown-user' }, 'late-password')
    expect(await login('unknown-user', 'late-password')).toMatchObject(badCredentials)
  })

  test('names are not kept in the table of failures', async () => {
    await login('hunter2-typed-into-the-wrong-field', 'x')
    const { rows } = await server.database.pool.query('select * from login_failures')
    expect(JSON.stringify(rows)).not.toContain('hunter2')
  })
})

describe('row 22, 26: guessing from one address', () => {
  let limited: TestServer
  beforeAll(async () => {
    limited = await startServer({
      config: { failedLoginsPerAddress: 5, failedLoginsPerClient: 7, trustedProxies: ['127.0.0.1'] },
      now: () => new Date(Date.now() + aheadMillis),
    })
  })
  afterAll(() => limited.stop())

  const from = (forwarded: string, form: Record<string, string | undefined> = {}) =>
    limited.token(
      {
        ...ALICE,
        client_id: 'app',
        client_secret: undefined,
        username: `u${Math.random()}`,
        password: 'wrong',
        ...form,
      },
      { headers: { 'X-Forwarded-For': forwarded } },
    )
  const rateLimited = { status: 429, body: { error: 'rate_limited', error_description: 'Too many failed logins' } }

  test('is refused after the limit, says for how long, and leaves other addresses alone', async () => {
    for (let tries = 0; tries < 5; tries++) expect(await from('192.0.2.1')).toMatchObject(badCredentials)
    const refused = await from('192.0.2.1', ALICE)
    expect(refused).toMatchObject(rateLimited)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60)
    expect(await from('192.0.2.2', ALICE)).toMatchObject({ status: 200 })
    later(61)
    expect(await from('192.0.2.1', ALICE)).toMatchObject({ status: 200 })
  })

  test('what the caller writes before the proxy’s own hop is not believed', async () => {
    for (let tries = 0; tries < 5; tries++) {
      expect(await from(`203.0.113.${tries}, 192.0.2.3`)).toMatchObject(badCredentials)
    }
    expect(await from('203.0.113.99, 192.0.2.3')).toMatchObject(rateLimited)
    expect(await from(`${'10.0.0.1, '.repeat(1000)}192.0.2.3`)).toMatchObject(rateLimited)
  })

  test('an IPv6 caller is counted with the whole /64', async () => {
    for (let tries = 0; tries < 5; tries++) expect(await from(`2001:db8:1:2::${tries}`)).toMatchObject(badCredentials)
    expect(await from('2001:db8:1:2:ffff::1')).toMatchObject(rateLimited)
    expect(await from('2001:db8:1:3::1')).toMatchObject(badCredentials)
  })

  test('logins that succeed do not count', async () => {
    for (let tries = 0; tries < 12; tries++) expect(await from('192.0.2.4', ALICE)).toMatchObject({ status: 200 })
  })

  test('an authenticated confidential client is counted by itself, under a limit of its own', async () => {
    const shop = { client_id: 'shop', client_secret: SHOP_SECRET }
    for (let tries = 0; tries < 7; tries++) expect(await from('192.0.2.5', shop)).toMatchObject(badCredentials)
    expect(await from('192.0.2.6', shop)).toMatchObject(rateLimited)
    expect(await from('192.0.2.5')).toMatchObject(badCredentials)
  })

  test('a caller that is no trusted proxy is who it is, whatever it writes', async () => {
    const direct = await startServer({ config: { failedLoginsPerAddress: 2 } })
    const guess = (forwarded: string) =>
      direct.token(
        { ...ALICE, client_id: 'app', client_secret: undefined, password: 'wrong' },
        { headers: { 'X-Forwarded-For': forwarded } },
      )
    expect(await guess('192.0.2.1')).toMatchObject(badCredentials)
    expect(await guess('192.0.2.2')).toMatchObject(badCredentials)
    expect(await guess('192.0.2.3')).toMatchObject(rateLimited)
    await direct.stop()
  })
})

describe('row 25: a stored hash that is unfit', () => {
  const [head, salt, digest] = ['$argon2id$v=19$', 'c2FsdHNhbHRzYWx0c2E', 'aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNoaGFzaGhhc2g']
  test.for<[string, string]>([
    ['asks for 2 GiB', `${head}m=2097152,t=1,p=1$${salt}$${digest}`],
    ['asks for 2,000 passes', `${head}m=1024,t=2000,p=1$${salt}$${digest}`],
    ['asks for 255 lanes', `${head}m=4096,t=1,p=255$${salt}$${digest}`],
    ['is of another algorithm', `$argon2d$v=19$m=1024,t=1,p=1$${salt}$${digest}`],
    ['is bcrypt', '$2b$12$abcdefghijklmnopqrstuuAbcdefghijklmnopqrstuvwxyzABCDE'],
    ['is cut short', `${head}m=1024,t=1,p=1$${salt}`],
    ['names a parameter twice', `${head}m=1024,m=1024,t=1$${salt}$${digest}`],
    ['is empty', ''],
    ['is the password', ALICE.password],
  ])('%s: no login is possible with it, and the log says so', async ([, passwordHash], { task }) => {
    const username = `unfit-${task.id}`
    await server.addUser({ username, passwordHash, passwordSource: 'test' })
    const before = server.log.length
    expect(await login(username, ALICE.password)).toMatchObject(badCredentials)
    const told = server.log.slice(before).join('')
    expect(told).toContain('a stored password hash is damaged or exceeds the allowed parameters')
    if (passwordHash !== '') expect(told).not.toContain(passwordHash)
  })
})

describe('row 24: more logins than can be hashed', () => {
  const slowLogin = () =>
    server.request('/auth/realms/slow/protocol/openid-connect/token', {
      form: { ...ALICE, client_id: 'app', password: 'wrong' },
    })

  test('are refused at once with the time to wait, count as no failures, and others are served meanwhile', async () => {
    const { body: tokens } = await server.token(ALICE)
    const [answers, introspected] = await Promise.all([
      Promise.all(Array.from({ length: 50 }, slowLogin)),
      server.request('token/introspect', {
        form: { client_id: 'shop', client_secret: SHOP_SECRET, token: tokens.access_token },
      }),
    ])
    expect(introspected.body.active).toBe(true)
    const refused = answers.filter(({ status }) => status === 503)
    expect(refused.length).toBeGreaterThan(0)
    expect(refused[0]).toMatchObject({
      body: { error: 'temporarily_unavailable', error_description: 'Too many logins are waiting' },
    })
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0)
    const judged = answers.filter(({ status }) => status === 401)
    expect(judged.length).toBeGreaterThan(0)
    expect(judged.length + refused.length).toBe(50)
  })
})

test('attempts on one name wait for its counter with few connections, and others are served', async () => {
  const { body: tokens } = await server.token(ALICE)
  const { pool } = server.database
  await failTimes('crowded', 1)
  const other = await pool.connect()
  onTestFinished(() => other.release(true))
  await other.query('begin')
  // As a server does that counts the same name.
  const { rowCount } = await other.query('update login_failures set failures = failures where username_digest = $1', [
    usernameDigest('crowded'),
  ])
  expect(rowCount).toBe(1)
  const attempts = Array.from({ length: 30 }, () => login('crowded', 'wrong'))
  const waiting = async (): Promise<number> => {
    const { rows } = await pool.query(
      `select count(*)::int as count from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    )
    return rows[0].count
  }
  await expect.poll(waiting, SOON).toBeGreaterThan(0)
  const headers = { authorization: `Bearer ${tokens.access_token}` }
  for (let request = 0; request < 5; request++) {
    expect(await server.request('userinfo', { headers })).toMatchObject({ status: 200 })
  }
  expect(await waiting()).toBeGreaterThan(0)
  await other.query('commit')
  for (const answer of await Promise.all(attempts)) expect(answer).toMatchObject(badCredentials)
})

describe('a hash with other parameters than the realm’s', () => {
  const hashOf = async ({ subject }: UserRow): Promise<string> => {
    const { rows } = await server.database.pool.query('select password_hash as hash from users where subject = $1', [
      subject,
    ])
    return rows[0].hash
  }

  test('is renewed by a login, and the login after that finds it as it should be', async () => {
    const passwordHash = await hashPassword('renewed-password', { memoryKiB: 2048, iterations: 2, parallelism: 1 })
    const user = await server.addUser({ username: 'renewed', passwordHash, passwordSource: 'test' })
    expect(await login('renewed', 'renewed-password')).toMatchObject({ status: 200 })
    await expect.poll(() => hashOf(user), SOON).toContain(`m=${QUICK_HASHING.memoryKiB},p=1,t=1$`)
    const renewed = await hashOf(user)
    expect(await login('renewed', 'renewed-password')).toMatchObject({ status: 200 })
    expect(await hashOf(user)).toBe(renewed)
  })

  test('is left alone by a wrong password', async () => {
    const passwordHash = await hashPassword('kept-password', { memoryKiB: 2048, iterations: 2, parallelism: 1 })
    const user = await server.addUser({ username: 'kept', passwordHash, passwordSource: 'test' })
    expect(await login('kept', 'wrong')).toMatchObject(badCredentials)
    expect(await login('alice', ALICE.password)).toMatchObject({ status: 200 })
    expect(await hashOf(user)).toBe(passwordHash)
  })
})
