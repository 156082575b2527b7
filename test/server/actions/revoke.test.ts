import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Keyring } from '../../../keyring/keyring.ts'
import { realmKeyring } from '../../support/realm_keyring.ts'
import { ALICE, addAcme, SHOP_SECRET, startServer } from '../../support/server.ts'
import type { TestAnswer, TestServer } from '../../support/server.ts'
import { resigned, tokenParts } from '../../support/signed_tokens.ts'

let server: TestServer
let keyring: Keyring
const OTHER = { client_id: 'other', client_secret: 'other-secret-for-tests' }

beforeAll(async () => {
  keyring = await realmKeyring()
  server = await startServer({
    async prepare(world) {
      await addAcme({ ...world, addRealm: (row) => world.addRealm(row, keyring) })
      await world.addClient({ clientId: OTHER.client_id }, OTHER.client_secret)
    },
  })
})
afterAll(() => server?.stop())

async function login(form: Record<string, string | undefined> = {}) {
  const { status, body } = await server.token({ ...ALICE, ...form })
  expect(status).toBe(200)
  return body
}
const revoke = (token: string | undefined, form: Record<string, string | undefined> = {}): Promise<TestAnswer> =>
  server.request('revoke', { form: { client_id: 'shop', client_secret: SHOP_SECRET, token, ...form } })
const isEnded = async (token: string): Promise<boolean> => {
  const { rows } = await server.database.pool.query(
    'select ended_at is not null as ended from sessions where sid = $1',
    [tokenParts(token).payload.sid],
  )
  return rows[0].ended
}

test.for(['refresh_token', 'access_token'])('a %s of this client ends its session', async (kind) => {
  const tokens = await login()
  const { status, text, headers } = await revoke(tokens[kind])
  expect([status, text]).toEqual([200, '{}'])
  expect(headers.get('content-type')).toBe('application/json')
  const introspected = await server.request('token/introspect', {
    form: { client_id: 'shop', client_secret: SHOP_SECRET, token: tokens.access_token },
  })
  expect(introspected.text).toBe('{"active":false}')
  const refreshed = await server.token({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token })
  expect(refreshed.body.error_description).toBe('Session not active')
})

test('with any hint, and again', async () => {
  const { refresh_token: token } = await login()
  expect((await revoke(token, { token_type_hint: 'access_token' })).text).toBe('{}')
  expect(await isEnded(token)).toBe(true)
  expect((await revoke(token, { token_type_hint: 'nonsense' })).text).toBe('{}')
})

test('an expired access token ends its session, whose other tokens may be good', async () => {
  const { access_token: token } = await login()
  await revoke(await resigned(token, keyring, { payload: { exp: 1 } }))
  expect(await isEnded(token)).toBe(true)
})

test('a public client may', async () => {
  const { refresh_token: token } = await login({ client_id: 'app', client_secret: undefined })
  expect((await revoke(token, { client_id: 'app', client_secret: undefined })).text).toBe('{}')
  expect(await isEnded(token)).toBe(true)
})

describe('RFC 7009 section 2.2: 200 and no effect', () => {
  test('garbage, and tokens of another kind', async () => {
    const { access_token: token, id_token: id } = await login()
    for (const bad of [
      'garbage',
      `${token}x`,
      id,
      'x'.repeat(17_000),
      await resigned(token, await realmKeyring(), {}),
    ]) {
      const { status, text } = await revoke(bad)
      expect([status, text]).toEqual([200, '{}'])
    }
    expect(await isEnded(token)).toBe(false)
  })

  test('another client’s tokens', async () => {
    const { access_token: access, refresh_token: refresh } = await login()
    for (const token of [access, refresh]) {
      const { status, text } = await revoke(token, OTHER)
      expect([status, text]).toEqual([200, '{}'])
    }
    expect(await isEnded(access)).toBe(false)
  })
})

test('no token: 400', async () => {
  const { status, body } = await revoke(undefined)
  expect([status, body.error]).toEqual([400, 'invalid_request'])
})

test('no client, or a wrong secret: 401 and no effect', async () => {
  const { refresh_token: token } = await login()
  expect((await revoke(token, { client_secret: 'wrong-secret-for-tests' })).status).toBe(401)
  expect((await revoke(token, { client_id: undefined, client_secret: undefined })).status).toBe(401)
  expect(await isEnded(token)).toBe(false)
})
