import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readAudit } from '../../../store/audit.ts'
import { writersOf } from '../../support/audit.ts'
import type { Keyring } from '../../../keyring/keyring.ts'
import { realmKeyring } from '../../support/realm_keyring.ts'
import { ALICE, addAcme, ALICE_PASSWORD, SHOP_SECRET, startServer } from '../../support/server.ts'
import type { TestAnswer, TestServer } from '../../support/server.ts'
import { tokenParts } from '../../support/signed_tokens.ts'

let server: TestServer
let keyring: Keyring
let offset = 0

beforeAll(async () => {
  keyring = await realmKeyring()
  server = await startServer({
    now: () => new Date(Date.now() + offset),
    async prepare(world) {
      await addAcme({ ...world, addRealm: (row) => world.addRealm(row, keyring) })
      await world.addClient({ clientId: 'other' }, 'other-secret-for-tests')
      await world.addRealm({ realm: 'elsewhere' })
      await world.addClient({ realm: 'elsewhere', clientId: 'shop' }, SHOP_SECRET)
      await world.addUser({ realm: 'elsewhere', username: 'alice' }, ALICE_PASSWORD)
    },
  })
})
afterAll(() => server?.stop())

async function login(form: Record<string, string | undefined> = {}) {
  const { status, body } = await server.token({ ...ALICE, ...form })
  expect(status).toBe(200)
  return body
}
const logout = (refreshToken: string | undefined, form: Record<string, string | undefined> = {}): Promise<TestAnswer> =>
  server.request('logout', {
    form: { client_id: 'shop', client_secret: SHOP_SECRET, refresh_token: refreshToken, ...form },
  })
const isActive = async (token: string): Promise<boolean> =>
  (await server.request('token/introspect', { form: { client_id: 'shop', client_secret: SHOP_SECRET, token } })).body
    .active
const refresh = (refreshToken: string): Promise<TestAnswer> =>
  server.token({ grant_type: 'refresh_token', refresh_token: refreshToken })

test('ends the session: no token of it is good any more', async () => {
  const tokens = await login()
  const { status, text, headers } = await logout(tokens.refresh_token)
  expect([status, text]).toEqual([204, ''])
  expect(headers.get('cache-control')).toBe('no-store')
  expect(await isActive(tokens.access_token)).toBe(false)
  const again = await refresh(tokens.refresh_token)
  expect([again.status, again.body]).toEqual([400, { error: 'invalid_grant', error_description: 'Session not active' }])
  const userinfo = await server.request('userinfo', { headers: { authorization: `Bearer ${tokens.access_token}` } })
  expect(userinfo.status).toBe(401)
})

test('ends that session and no other', async () => {
  const [one, two] = [await login(), await login()]
  await logout(one.refresh_token)
  expect([await isActive(one.access_token), await isActive(two.access_token)]).toEqual([false, true])
})

test('a public client logs out by its id', async () => {
  const tokens = await login({ client_id: 'app', client_secret: undefined })
  expect((await logout(tokens.refresh_token, { client_id: 'app', client_secret: undefined })).status).toBe(204)
  const { rows } = await server.database.pool.query('select end_reason from sessions where sid = $1', [
    tokenParts(tokens.refresh_token).payload.sid,
  ])
  expect(rows).toEqual([{ end_reason: 'logout' }])
})

describe('row 49: 204 as well', () => {
  test('twice', async () => {
    const { refresh_token: token } = await login()
    expect([(await logout(token)).status, (await logout(token)).status]).toEqual([204, 204])
  })

  test('in parallel', async () => {
    const { refresh_token: token, access_token: access } = await login()
    const answers = await Promise.all(Array.from({ length: 10 }, () => logout(token)))
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 204))
    expect(await isActive(access)).toBe(false)
  })

  test('with a refresh token that was used already: the session of its successor ends', async () => {
    const first = await login()
    const { body: second } = await refresh(first.refresh_token)
    expect((await logout(first.refresh_token)).status).toBe(204)
    expect(await isActive(second.access_token)).toBe(false)
  })

  test('with one that expired', async () => {
    const { refresh_token: token } = await login()
    try {
      offset = 1_801_000
      expect((await logout(token)).status).toBe(204)
    } finally {
      offset = 0
    }
    expect((await refresh(token)).body.error_description).toBe('Session not active')
  })

  test('of a session that was swept', async () => {
    const { refresh_token: token } = await login()
    await server.database.pool.query('delete from sessions where sid = $1', [tokenParts(token).payload.sid])
    expect((await logout(token)).status).toBe(204)
  })
})

describe('row 50: nothing happens', () => {
  test('with another client’s token, and the answer does not reveal whether it was one', async () => {
    const { refresh_token: token, access_token: access } = await login()
    const others = await logout(token, { client_id: 'other', client_secret: 'other-secret-for-tests' })
    const garbage = await logout('garbage')
    expect([others.status, others.body]).toEqual([
      400,
      { error: 'invalid_grant', error_description: 'Invalid refresh token' },
    ])
    expect([others.status, others.text]).toEqual([garbage.status, garbage.text])
    expect(await isActive(access)).toBe(true)
  })

  test('with a changed one, another kind, another realm’s', async () => {
    const { refresh_token: token, access_token: access, id_token: id } = await login()
    const { body: elsewhere } = await server.request('/auth/realms/elsewhere/protocol/openid-connect/token', {
      form: { ...ALICE, client_id: 'shop', client_secret: SHOP_SECRET },
    })
    for (const bad of [
      `${token.slice(0, -3)}AAA`,
      `${token}.`,
      access,
      id,
      elsewhere.refresh_token,
      'x'.repeat(17_000),
    ]) {
      const { status, body } = await logout(bad)
      expect([status, body.error_description]).toEqual([400, 'Invalid refresh token'])
    }
    expect(await isActive(access)).toBe(true)
  })
})

test('no token: 400', async () => {
  const { status, body } = await logout(undefined)
  expect([status, body]).toEqual([400, { error: 'invalid_request', error_description: 'No refresh token' }])
})

test('no client, or a wrong secret: 401, and the session lives on', async () => {
  const { refresh_token: token, access_token: access } = await login()
  expect((await logout(token, { client_secret: 'wrong-secret-for-tests' })).status).toBe(401)
  expect((await logout(token, { client_id: undefined, client_secret: undefined })).status).toBe(401)
  expect(await isActive(access)).toBe(true)
})

test('is recorded once in the audit chain', async () => {
  const { refresh_token: token } = await login()
  await logout(token)
  await logout(token)
  const { sid, sub } = tokenParts(token).payload
  const { pool } = server.database
  const chains = await Promise.all((await writersOf(pool)).map((writer) => readAudit(pool, writer)))
  const details = chains.flat().flatMap((row) => (row.action === 'session_ended' ? [JSON.parse(row.details)] : []))
  expect(details.filter((each) => each.sid === sid)).toEqual([
    { sid, clientId: 'shop', subject: sub, reason: 'logout' },
  ])
})
