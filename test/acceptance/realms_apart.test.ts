import { afterAll, beforeAll, expect, test } from 'vitest'
import { FIELDS, HELD } from '../support/field_world.ts'
import { ALICE, ALICE_PASSWORD, SHOP_SECRET, startServer } from '../support/server.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'

// Two realms of one server in which everything has the same name: clients, secrets, users, passwords, subjects, fields,
// key versions. Nothing of the one is anything in the other.

const REALMS = ['acme', 'beta'] as const
type Realm = (typeof REALMS)[number]
const OTHER = { acme: 'beta', beta: 'acme' } as const

let server: TestServer
beforeAll(async () => {
  server = await startServer({
    prepare: async (world) => {
      for (const realm of REALMS) {
        await world.addRealm({ realm, fields: FIELDS, encryption: { missing: [] } })
        await world.addClient({ realm, clientId: 'shop' }, SHOP_SECRET)
        const subject = `alice-subject`
        await world.addUser({ realm, username: 'alice', subject, subjectPinned: true }, ALICE_PASSWORD)
        await world.grant(realm, subject, HELD)
      }
    },
  })
})
afterAll(() => server?.stop())

const client = { client_id: 'shop', client_secret: SHOP_SECRET }
const post = (realm: Realm, path: string, form: Record<string, string>): Promise<TestAnswer> =>
  server.request(`/auth/realms/${realm}/protocol/openid-connect/${path}`, { form: { ...client, ...form } })
const field = (realm: Realm, path: string, token: string, json: object): Promise<TestAnswer> =>
  server.request(`/realms/${realm}/protocol/openid-connect/${path}`, {
    json,
    headers: { authorization: `Bearer ${token}` },
  })

async function login(realm: Realm) {
  const { status, body } = await post(realm, 'token', { ...ALICE, scope: ['openid', ...HELD].join(' ') })
  expect(status).toBe(200)
  return body
}

test('row 57: an access token counts in its realm alone, at every endpoint', async () => {
  for (const realm of REALMS) {
    const { access_token: token } = await login(realm)
    const item = { field: 'dateOfBirth', value: 'x', ciphertext: 'rk1:1:AA' }
    expect((await post(realm, 'token/introspect', { token })).body.active).toBe(true)
    expect((await post(OTHER[realm], 'token/introspect', { token })).text).toBe('{"active":false}')
    for (const path of ['encrypt', 'decrypt', 'rewrap']) {
      const answer = await field(OTHER[realm], path, token, item)
      expect([answer.status, answer.body.error]).toEqual([401, 'invalid_token'])
      expect(answer.headers.get('www-authenticate')).toBe(`Bearer realm="${OTHER[realm]}", error="invalid_token"`)
    }
  }
})

test('rows 27 and 50: so does a refresh token, and a session ends in its realm alone', async () => {
  for (const realm of REALMS) {
    const tokens = await login(realm)
    const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
    const invalid = { status: 400, body: { error: 'invalid_grant', error_description: 'Invalid refresh token' } }
    expect(await post(OTHER[realm], 'token', refresh)).toMatchObject(invalid)
    expect(await post(OTHER[realm], 'logout', { refresh_token: tokens.refresh_token })).toMatchObject(invalid)
    for (const token of [tokens.refresh_token, tokens.access_token]) {
      expect(await post(OTHER[realm], 'revoke', { token })).toMatchObject({ status: 200 })
    }
    expect((await post(realm, 'token/introspect', { token: tokens.access_token })).body.active).toBe(true)
    expect(await post(realm, 'token', refresh)).toMatchObject({ status: 200 })
  }
})

test('row 62: a ciphertext opens in its realm alone', async () => {
  for (const realm of REALMS) {
    const [here, there] = [(await login(realm)).access_token, (await login(OTHER[realm])).access_token]
    for (const name of ['dateOfBirth', 'diary']) {
      const { body } = await field(realm, 'encrypt', here, { field: name, value: '1990-01-31' })
      expect((await field(realm, 'decrypt', here, body)).body.value).toBe('1990-01-31')
      for (const path of ['decrypt', 'rewrap']) {
        const answer = await field(OTHER[realm], path, there, body)
        expect([answer.status, answer.body]).toEqual([
          400,
          { error: 'decryption_failed', error_description: 'The ciphertext cannot be decrypted' },
        ])
      }
    }
  }
})

test('row 21: wrong passwords lock a name in their realm alone', async () => {
  for (let tries = 0; tries < 10; tries++) await post('beta', 'token', { ...ALICE, password: 'wrong' })
  expect(await post('beta', 'token', ALICE)).toMatchObject({ status: 401 })
  expect(await post('acme', 'token', ALICE)).toMatchObject({ status: 200 })
})
