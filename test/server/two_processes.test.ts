import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deleteUser, upsertUser } from '../../store/users.ts'
import { HELD, startFieldServer } from '../support/field_world.ts'
import type { FieldServer } from '../support/field_world.ts'
import { testDatabase } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'
import { ALICE_PASSWORD, SHOP_SECRET, startServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import { eventually } from '../support/eventually.ts'

// Two servers that share nothing but a database and the keyrings. What one does counts in the very next answer of the
// other: there is no waiting in these tests, except for what comes through the change log.
let database: TestDatabase
let one: FieldServer
let two: TestServer
/** How far the second server's clock is ahead. */
let ahead = 0

beforeAll(async () => {
  database = await testDatabase()
  one = await startFieldServer({ database })
  two = await startServer({
    database,
    keyringDir: one.keyringDir,
    now: () => new Date(Date.now() + ahead),
    config: { baseUrl: one.url },
    prepare: async () => {},
  })
})
afterAll(async () => {
  await Promise.all([one?.stop(), two?.stop()])
  await database?.drop()
})

const client = { client_id: 'shop', client_secret: SHOP_SECRET }

async function login(username = 'alice') {
  const { status, body } = await one.token({
    grant_type: 'password',
    username,
    password: ALICE_PASSWORD,
    scope: ['openid', ...HELD].join(' '),
  })
  expect(status).toBe(200)
  return body
}

/** The other server's answer to an access token, at each endpoint that verifies one. */
async function seenByTwo(token: string): Promise<{ introspect: boolean; userinfo: number; encrypt: number }> {
  const headers = { authorization: `Bearer ${token}` }
  const [introspect, userinfo, encrypt] = await Promise.all([
    two.request('token/introspect', { form: { ...client, token } }),
    two.request('userinfo', { headers }),
    two.request('encrypt', { json: { field: 'dateOfBirth', value: 'x' }, headers }),
  ])
  return { introspect: introspect.body.active, userinfo: userinfo.status, encrypt: encrypt.status }
}

const GOOD = { introspect: true, userinfo: 200, encrypt: 200 }
const NOT_GOOD = { introspect: false, userinfo: 401, encrypt: 401 }

test('row 51: a logout is seen by the next answer of the other server', async () => {
  for (let round = 0; round < 20; round++) {
    const { access_token: access, refresh_token: refresh } = await login()
    // Verified before, so that the other server has it in its memory.
    expect(await seenByTwo(access)).toEqual(GOOD)
    expect((await one.request('logout', { form: { ...client, refresh_token: refresh } })).status).toBe(204)
    expect(await seenByTwo(access)).toEqual(NOT_GOOD)
  }
})

test('so is a revocation', async () => {
  const { access_token: access } = await login()
  expect(await seenByTwo(access)).toEqual(GOOD)
  await one.request('revoke', { form: { ...client, token: access } })
  expect(await seenByTwo(access)).toEqual(NOT_GOOD)
})

test('so is the end of a session by a refresh token that was used twice', async () => {
  const first = await login()
  const refresh = (server: TestServer, token: string) =>
    server.token({ grant_type: 'refresh_token', refresh_token: token })
  const { body: second } = await refresh(one, first.refresh_token)
  expect(await seenByTwo(second.access_token)).toEqual(GOOD)
  expect((await refresh(two, first.refresh_token)).body.error_description).toBe('Refresh token reused')
  expect(await seenByTwo(second.access_token)).toEqual(NOT_GOOD)
})

test('a user who is disabled or removed', async () => {
  const { access_token: access } = await login()
  expect(await seenByTwo(access)).toEqual(GOOD)
  await upsertUser(database.pool, { ...one.alice, enabled: false })
  expect(await seenByTwo(access)).toEqual(NOT_GOOD)
  await upsertUser(database.pool, one.alice)
  expect(await seenByTwo(access)).toEqual(GOOD)

  const zoe = await one.addUser({ username: 'zoe' }, ALICE_PASSWORD)
  await one.grant('acme', zoe.subject, HELD)
  const { access_token: hers } = await login('zoe')
  expect(await seenByTwo(hers)).toEqual(GOOD)
  await deleteUser(database.pool, zoe.resourceUid)
  expect(await seenByTwo(hers)).toEqual(NOT_GOOD)
})

describe('a role that is granted no more', () => {
  const rolesAtTwo = async (token: string): Promise<string[]> =>
    (await two.request('token/introspect', { form: { ...client, token } })).body.realm_access.roles

  test('withdrawn, or expired while the operator is down', async () => {
    const { access_token: access } = await login()
    expect(await rolesAtTwo(access)).toEqual(HELD.toSorted())
    await one.grant('acme', one.alice.subject, HELD, new Date(Date.now() - 1))
    expect(await rolesAtTwo(access)).toEqual([])
    expect(await seenByTwo(access)).toEqual({ ...GOOD, encrypt: 403 })
    await one.grant('acme', one.alice.subject, HELD)
    expect(await seenByTwo(access)).toEqual(GOOD)
    await one.grant('acme', one.alice.subject, [])
    expect(await seenByTwo(access)).toEqual({ ...GOOD, encrypt: 403 })
    await one.grant('acme', one.alice.subject, HELD)
  })

  test('expires by the clock alone', async () => {
    const { access_token: access } = await login()
    await one.grant('acme', one.alice.subject, HELD, new Date(Date.now() + 100_000))
    expect(await rolesAtTwo(access)).toEqual(HELD.toSorted())
    ahead = 100_001
    expect(await rolesAtTwo(access)).toEqual([])
    expect(await seenByTwo(access)).toEqual({ ...GOOD, encrypt: 403 })
    ahead = 0
    await one.grant('acme', one.alice.subject, HELD)
  })
})

test('through the change log: a disabled client, a disabled realm', async () => {
  const { access_token: access } = await login()
  const row = await one.addClient({ clientId: 'briefly' })
  await eventually(() => one.tokenOf('alice', 'openid', 'briefly'))
  const token = await one.tokenOf('alice', 'openid', 'briefly')
  const userinfo = async () => (await two.request('userinfo', { headers: { authorization: `Bearer ${token}` } })).status
  await eventually(async () => expect(await userinfo()).toBe(200))
  await one.addClient({ ...row, enabled: false })
  await eventually(async () => expect(await userinfo()).toBe(401))

  await one.addRealm({ ...one.realm, enabled: false }, null)
  await eventually(async () => expect((await seenByTwo(access)).userinfo).toBe(403))
  await one.addRealm(one.realm, null)
  await eventually(async () => expect(await seenByTwo(access)).toEqual(GOOD))
  await eventually(() => login())
})

test('row 66: one replica decrypts what the other encrypts', async () => {
  const { access_token: access } = await login()
  const headers = { authorization: `Bearer ${access}` }
  const { body } = await one.encrypt(access, { field: 'diary', value: 'dear diary' })
  const decrypted = await two.request('decrypt', { json: body, headers })
  expect(decrypted.body).toEqual({ field: 'diary', value: 'dear diary', keyVersion: 1, stale: false })
})
