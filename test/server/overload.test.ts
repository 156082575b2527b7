import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openRaw } from '../support/raw_http.ts'
import type { RawConnection } from '../support/raw_http.ts'
import { addAcme, ALICE, SHOP_SECRET, startServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

// Each refusal for overload is a warning of its kind, and a flood writes ten lines a minute.

const SOON = { timeout: 120_000 }

let server: TestServer
beforeAll(async () => {
  server = await startServer({
    config: { databaseConnections: 2 },
    prepare: async (world) => {
      await addAcme(world)
      await world.addRealm({ realm: 'slow', passwordHashing: { memoryKiB: 65_536, iterations: 8, parallelism: 1 } })
      await world.addClient({ realm: 'slow', clientId: 'app' })
    },
  })
})
afterAll(() => server?.stop())

function linesOf(overload: string): Record<string, unknown>[] {
  return server.log
    .map((line): Record<string, unknown> => JSON.parse(line))
    .filter((line) => line.overload === overload)
}

test('more logins than can be hashed', async () => {
  const form = new URLSearchParams({ ...ALICE, client_id: 'app', password: 'wrong' }).toString()
  const head = [
    'POST /auth/realms/slow/protocol/openid-connect/token HTTP/1.1',
    'Host: x',
    'Content-Type: application/x-www-form-urlencoded',
    `Content-Length: ${form.length}`,
  ]
  const callers = Array.from({ length: 100 }, () => openRaw(server.url))
  for (const { socket } of callers) socket.write([...head, '', form].join('\r\n'))
  const refused = () => callers.filter(({ received }) => received().startsWith('HTTP/1.1 503')).length
  await expect.poll(refused, SOON).toBeGreaterThan(40)
  expect(linesOf('password_hashes').length).toBeGreaterThanOrEqual(10)
  expect(linesOf('password_hashes').length).toBeLessThan(refused())
  expect(linesOf('password_hashes')[0]).toMatchObject({ level: 'warn', route: 'token', status: 503, realm: 'slow' })
  for (const { socket } of callers) socket.destroy()
})

test('no connection of the pool is free in time', async () => {
  const { body: tokens } = await server.token(ALICE)
  const logout = () =>
    server.request('logout', {
      form: { client_id: 'shop', client_secret: SHOP_SECRET, refresh_token: tokens.refresh_token },
    })
  const other = new Client({ connectionString: server.database.url })
  await other.connect()
  await other.query('begin')
  await other.query('select 1 from sessions where sid = $1 for update', [tokens.session_state])
  const answers = await Promise.all(Array.from({ length: 4 }, logout))
  await other.end()
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]))
  expect(linesOf('database_connections').length).toBeGreaterThan(0)
  expect(linesOf('database_connections')[0]).toMatchObject({ level: 'warn', route: 'logout', status: 503 })
})

test('more memory for bodies than there is', async () => {
  const { body: tokens } = await server.token(ALICE)
  const head = [
    'POST /auth/realms/acme/protocol/openid-connect/encrypt HTTP/1.1',
    'Host: x',
    'Content-Type: application/json',
    'Content-Length: 1048576',
    `Authorization: Bearer ${tokens.access_token}`,
  ]
  const callers = Array.from({ length: 100 }, () => openRaw(server.url))
  for (const { socket } of callers) socket.write([...head, '', 'x'.repeat(1024 * 1024 - 100)].join('\r\n'))
  await expect.poll(() => linesOf('body_memory').length, SOON).toBeGreaterThanOrEqual(10)
  expect(linesOf('body_memory')[0]).toMatchObject({ level: 'warn', route: 'encrypt', status: 503 })
  for (const { socket } of callers) socket.destroy()
})

test.for(['connections', 'health_connections'])('too many %s', async (overload) => {
  const url = overload === 'connections' ? server.url : server.healthUrl
  const callers: RawConnection[] = []
  // On a busy machine, connections are closed for their age before the last ones are accepted.
  const openMore = (): number => {
    callers.push(...Array.from({ length: 400 }, () => openRaw(url)))
    return linesOf(overload).length
  }
  await expect.poll(openMore, { ...SOON, interval: 500 }).toBeGreaterThanOrEqual(10)
  for (const { socket } of callers) socket.destroy()
})

test('too many requests of a connection without an answer', async () => {
  const caller = openRaw(server.url)
  caller.socket.write('GET /auth/realms/acme HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(3_000))
  await caller.closed
  expect(linesOf('unanswered_requests')[0]).toMatchObject({ level: 'warn' })
})
