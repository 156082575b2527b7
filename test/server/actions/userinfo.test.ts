import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ClientRow } from '../../../store/clients.ts'
import type { Keyring } from '../../../keyring/keyring.ts'
import { deleteUser, upsertUser } from '../../../store/users.ts'
import type { UserRow } from '../../../store/users.ts'
import { realmKeyring } from '../../support/realm_keyring.ts'
import { ALICE, addAcme, ALICE_PASSWORD, startServer } from '../../support/server.ts'
import type { TestAnswer, TestServer } from '../../support/server.ts'
import { resigned } from '../../support/signed_tokens.ts'
import { eventually } from '../../support/eventually.ts'

let server: TestServer
let keyring: Keyring
let shop: ClientRow
let alice: UserRow

beforeAll(async () => {
  keyring = await realmKeyring()
  server = await startServer({
    async prepare(world) {
      ;({ shop, alice } = await addAcme({ ...world, addRealm: (row) => world.addRealm(row, keyring) }))
      await world.addClient({ clientId: 'bare', settings: { defaultScopes: [], optionalScopes: ['email', 'profile'] } })
    },
  })
})
afterAll(() => server?.stop())

async function login(form: Record<string, string | undefined> = {}) {
  const { status, body } = await server.token({ ...ALICE, ...form })
  expect(status).toBe(200)
  return body
}
const bearer = (token: string, scheme = 'Bearer') => ({ authorization: `${scheme} ${token}` })
const userinfo = (token: string): Promise<TestAnswer> => server.request('userinfo', { headers: bearer(token) })

describe('a good token', () => {
  test('returns the claims of the user', async () => {
    const { access_token: token } = await login()
    const { status, headers, body } = await userinfo(token)
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('content-type')).toBe('application/json')
    expect(body).toEqual({
      sub: alice.subject,
      email_verified: false,
      name: 'Alice Ames',
      preferred_username: 'alice',
      given_name: 'Alice',
      family_name: 'Ames',
      email: 'alice@example.test',
    })
  })

  test('returns only claims of its scope', async () => {
    const answer = async (scope: string) => {
      const { access_token: token } = await login({ client_id: 'bare', client_secret: undefined, scope })
      return Object.keys((await userinfo(token)).body)
    }
    expect(await answer('openid')).toEqual(['sub'])
    expect(await answer('openid email')).toEqual(['sub', 'email_verified', 'email'])
    expect(await answer('openid profile')).toEqual(['sub', 'name', 'preferred_username', 'given_name', 'family_name'])
  })

  test('returns the user as it is at this moment', async () => {
    const { access_token: token } = await login()
    await upsertUser(server.database.pool, { ...alice, email: null, firstName: null, lastName: 'Brown' })
    expect((await userinfo(token)).body).toEqual({
      sub: alice.subject,
      name: 'Brown',
      preferred_username: 'alice',
      family_name: 'Brown',
    })
    await upsertUser(server.database.pool, alice)
  })

  test('may come in a form, and with the scheme in any case', async () => {
    const { access_token: token } = await login()
    expect((await server.request('userinfo', { form: { access_token: token } })).body.sub).toBe(alice.subject)
    expect((await server.request('userinfo', { method: 'POST', headers: bearer(token) })).body.sub).toBe(alice.subject)
    expect((await server.request('userinfo', { headers: bearer(token, 'bEARER') })).status).toBe(200)
  })

  test('without openid: 403, and the challenge names the missing scope', async () => {
    const { access_token: token } = await login({ client_id: 'bare', client_secret: undefined, scope: 'email' })
    const { status, headers, body } = await userinfo(token)
    expect(status).toBe(403)
    expect(headers.get('www-authenticate')).toBe('Bearer realm="acme", error="insufficient_scope", scope="openid"')
    expect(body.error).toBe('insufficient_scope')
  })
})

describe('row 46: refused transports of a token', () => {
  test('not at all: 401 without an error in the challenge', async () => {
    for (const headers of [{}, { authorization: '' }, { authorization: 'Bearer' }, { authorization: 'Basic eDp5' }]) {
      const answer = await server.request('userinfo', { headers })
      expect(answer.status).toBe(401)
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="acme"')
      expect(answer.body).toEqual({ error: 'invalid_token', error_description: 'No access token' })
    }
  })

  test('twice: 400', async () => {
    const { access_token: token } = await login()
    const { status, headers, body } = await server.request('userinfo', {
      headers: bearer(token),
      form: { access_token: token },
    })
    expect(status).toBe(400)
    expect(body.error).toBe('invalid_request')
    expect(headers.get('www-authenticate')).toBe('Bearer realm="acme", error="invalid_request"')
  })

  test('in the query: 400, alone or with a good one in the header', async () => {
    const { access_token: token } = await login()
    for (const headers of [{}, bearer(token)]) {
      const { status, body } = await server.request(`userinfo?access_token=${token}`, { headers })
      expect(status).toBe(400)
      expect(body.error).toBe('invalid_request')
    }
  })

  test('in a form twice: 400', async () => {
    const { access_token: token } = await login()
    const { status, body } = await server.request('userinfo', {
      method: 'POST',
      body: `access_token=${token}&access_token=${token}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    expect([status, body.error]).toEqual([400, 'invalid_request'])
  })
})

describe('a token that is not good: the same 401 invalid_token for every cause', () => {
  const refused = async (token: string): Promise<void> => {
    const { status, headers, body } = await userinfo(token)
    expect(status).toBe(401)
    expect(headers.get('www-authenticate')).toBe('Bearer realm="acme", error="invalid_token"')
    expect(body).toEqual({ error: 'invalid_token', error_description: 'The access token is not valid' })
  }

  test('garbage, and tokens of another kind', async () => {
    const { access_token: token, refresh_token: refresh, id_token: id } = await login()
    await refused('garbage')
    await refused('a b c')
    await refused(`${token}x`)
    await refused(refresh)
    await refused(id)
    await refused(await resigned(token, keyring, { payload: { exp: 1 } }))
    await refused(await resigned(token, await realmKeyring(), {}))
  })

  test('row 48: of a user who is disabled or deleted', async () => {
    const bob = await server.addUser({ username: 'bob' }, ALICE_PASSWORD)
    const { access_token: token } = await login({ username: 'bob' })
    expect((await userinfo(token)).status).toBe(200)
    await upsertUser(server.database.pool, { ...bob, enabled: false })
    await refused(token)
    await upsertUser(server.database.pool, bob)
    await deleteUser(server.database.pool, bob.resourceUid)
    await refused(token)
  })

  test('another realm’s path', async () => {
    await server.addRealm({ realm: 'elsewhere' })
    const { access_token: token } = await login()
    await eventually(async () => {
      const answer = await server.request('/auth/realms/elsewhere/protocol/openid-connect/userinfo', {
        headers: bearer(token),
      })
      expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([
        401,
        'Bearer realm="elsewhere", error="invalid_token"',
      ])
    })
  })
})

test('row 54: CORS is for the origins of the token’s client, once the token is proven', async () => {
  await server.addClient({ ...shop, settings: { ...shop.settings, webOrigins: ['https://shop.example'] } })
  const { access_token: token } = await login()
  const asked = (authorization: string, origin = 'https://shop.example') =>
    server.request('userinfo', { headers: { authorization, origin } })
  await eventually(async () => {
    const { headers } = await asked(`Bearer ${token}`)
    expect(headers.get('access-control-allow-origin')).toBe('https://shop.example')
  })
  for (const [authorization, origin] of [
    [`Bearer ${token}`, 'null'],
    [`Bearer ${token}`, 'https://shop.example.evil'],
    // The client of a forged token is not authenticated.
    [`Bearer ${await resigned(token, await realmKeyring(), {})}`, 'https://shop.example'],
    ['', 'https://shop.example'],
  ] as const) {
    expect((await asked(authorization, origin)).headers.get('access-control-allow-origin')).toBeNull()
  }
})

test('row 54: a preflight is answered for any origin', async () => {
  const { status, headers } = await server.request('userinfo', {
    method: 'OPTIONS',
    headers: { origin: 'https://page.example', 'access-control-request-method': 'GET' },
  })
  expect(status).toBe(204)
  expect(headers.get('access-control-allow-origin')).toBe('https://page.example')
})
