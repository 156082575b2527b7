import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Keyring } from '../../../keyring/keyring.ts'
import type { ClientRow } from '../../../store/clients.ts'
import type { RealmRow } from '../../../store/realms.ts'
import { endSessions } from '../../../store/sessions/session_ends.ts'
import { upsertUser } from '../../../store/users.ts'
import type { UserRow } from '../../../store/users.ts'
import { realmKeyring } from '../../support/realm_keyring.ts'
import { ALICE, addAcme, ALICE_PASSWORD, SHOP_SECRET, startServer } from '../../support/server.ts'
import type { TestAnswer, TestServer } from '../../support/server.ts'
import { hmacWithPublicKey, resigned, tokenParts, withHeader } from '../../support/signed_tokens.ts'
import { eventually } from '../../support/eventually.ts'

const BILLING_SECRET = 'billing-secret-for-tests'
let server: TestServer
let keyring: Keyring
let realm: RealmRow
let shop: ClientRow
let alice: UserRow
let offset = 0

beforeAll(async () => {
  keyring = await realmKeyring({ algorithms: ['ES256', 'RS256'] })
  server = await startServer({
    now: () => new Date(Date.now() + offset),
    async prepare(world) {
      const fields = [{ name: 'dateOfBirth', tag: 'dob', binding: 'Realm' as const, maxValueBytes: 100 }]
      realm = await world.addRealm({ roles: [{ name: 'reader', composites: [] }], fields }, keyring)
      ;({ shop, alice } = await addAcme(
        { ...world, addRealm: async () => realm },
        { client: { settings: { audiences: ['billing'] } }, user: { emailVerified: true } },
      ))
      await world.addClient({ clientId: 'billing' }, BILLING_SECRET)
      await world.addClient({ clientId: 'other' }, 'other-secret-for-tests')
      await world.addRealm({ realm: 'elsewhere', roles: [] })
      await world.addClient({ realm: 'elsewhere', clientId: 'shop' }, SHOP_SECRET)
      await world.addUser({ realm: 'elsewhere', username: 'alice' }, ALICE_PASSWORD)
    },
  })
})
afterAll(() => server?.stop())

const login = async (scope = 'openid'): Promise<{ access_token: string; refresh_token: string; id_token: string }> => {
  const { status, body } = await server.token({ ...ALICE, scope })
  expect(status).toBe(200)
  return body
}
const introspect = (token: string | undefined, form: Record<string, string | undefined> = {}): Promise<TestAnswer> =>
  server.request('token/introspect', { form: { client_id: 'shop', client_secret: SHOP_SECRET, token, ...form } })
const isActive = async (token: string): Promise<boolean> => {
  const { status, text } = await introspect(token)
  expect(status).toBe(200)
  return text !== '{"active":false}'
}

describe('a good token', () => {
  test('is answered with all its members, not to be stored', async () => {
    await server.grant('acme', alice.subject, ['reader'])
    const { access_token: token } = await login()
    const { payload } = tokenParts(token)
    const { status, headers, body } = await introspect(token)
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(body).toEqual({
      active: true,
      exp: payload.exp,
      iat: payload.iat,
      sub: alice.subject,
      username: 'alice',
      email: 'alice@example.test',
      scope: 'openid profile email',
      client_id: 'shop',
      token_type: 'Bearer',
      aud: ['shop', 'billing'],
      iss: `${server.url}/auth/realms/acme`,
      jti: payload.jti,
      sid: payload.sid,
      typ: 'Bearer',
      azp: 'shop',
      realm_access: { roles: ['reader'] },
    })
  })

  test('is answered with the roles of this moment, not with those at its issue', async () => {
    await server.grant('acme', alice.subject, ['reader'])
    const { access_token: token } = await login()
    await server.grant('acme', alice.subject, [])
    expect((await introspect(token)).body.realm_access).toEqual({ roles: [] })
    await server.grant('acme', alice.subject, ['reader', 'svc-realm-admin', 'undefined-in-this-realm'])
    expect((await introspect(token)).body.realm_access).toEqual({ roles: ['reader', 'svc-realm-admin'] })
    await server.grant('acme', alice.subject, ['reader'], new Date(Date.now() - 1))
    expect((await introspect(token)).body.realm_access).toEqual({ roles: [] })
  })

  test('is answered without the scope of a field whose role was withdrawn', async () => {
    const [encrypt, decrypt] = ['_svc_dob.selfencrypt', '_svc_dob.selfdecrypt']
    await server.grant('acme', alice.subject, ['reader', encrypt, decrypt])
    const { access_token: token } = await login(`openid ${encrypt} ${decrypt}`)
    expect((await introspect(token)).body.scope).toBe(`openid ${encrypt} ${decrypt} profile email`)
    await server.grant('acme', alice.subject, ['reader', decrypt])
    expect((await introspect(token)).body).toMatchObject({
      active: true,
      scope: `openid ${decrypt} profile email`,
      realm_access: { roles: [decrypt, 'reader'] },
    })
  })

  test('may be called by Basic as well, and without the prefix', async () => {
    const { access_token: token } = await login()
    const basic = Buffer.from(`shop:${SHOP_SECRET}`).toString('base64')
    const { body } = await server.request('/realms/acme/protocol/openid-connect/token/introspect', {
      form: { token },
      headers: { authorization: `Basic ${basic}` },
    })
    expect(body).toMatchObject({ active: true, iss: `${server.url}/auth/realms/acme` })
  })

  test('row 38: token_type_hint is a hint', async () => {
    const { access_token: token } = await login()
    for (const hint of ['refresh_token', 'nonsense', '__proto__', 'x'.repeat(2000)]) {
      expect((await introspect(token, { token_type_hint: hint })).body.active).toBe(true)
    }
  })
})

describe('row 36: the caller must authenticate', () => {
  test.for<[string, Record<string, string | undefined>]>([
    ['no client', { client_id: undefined, client_secret: undefined }],
    ['no secret', { client_secret: undefined }],
    ['a wrong secret', { client_secret: 'wrong-secret-for-tests' }],
    ['an unknown client', { client_id: 'unknown' }],
  ])('%s: 401 and nothing of the token', async ([, form]) => {
    const { access_token: token } = await login()
    const { status, body } = await introspect(token, form)
    expect(status).toBe(401)
    expect(body).toEqual({
      error: 'invalid_client',
      error_description: 'Invalid client or Invalid client credentials',
    })
  })

  test('a public client: 403', async () => {
    const { access_token: token } = await login()
    const { status, body } = await introspect(token, { client_id: 'app', client_secret: undefined })
    expect(status).toBe(403)
    expect(body).toEqual({ error: 'invalid_request', error_description: 'Client not allowed.' })
  })
})

test('no token: 400', async () => {
  for (const token of [undefined, '']) {
    const { status, body } = await introspect(token)
    expect(status).toBe(400)
    expect(body).toEqual({ error: 'invalid_request', error_description: 'Token not provided.' })
  }
})

describe('row 39: tokens for other clients', () => {
  test('the audience may see it, another client may not', async () => {
    const { access_token: token } = await login()
    const billing = await introspect(token, { client_id: 'billing', client_secret: BILLING_SECRET })
    expect(billing.body.active).toBe(true)
    const other = await introspect(token, { client_id: 'other', client_secret: 'other-secret-for-tests' })
    expect(other.status).toBe(200)
    expect(other.text).toBe('{"active":false}')
  })
})

describe('row 37: every other token is inactive, without a reason', () => {
  test.for<[string, string]>([
    ['garbage', 'garbage'],
    ['20 KB', 'x'.repeat(20_000)],
    ['dots', '..'],
    ['text beyond ASCII', '\u{1f511}.\u00e9.\ud7ff'],
  ])('%s', async ([, token]) => {
    expect(await isActive(token)).toBe(false)
  })

  test('expired', async () => {
    const { access_token: token } = await login()
    expect(await isActive(token)).toBe(true)
    try {
      offset = 301_000
      expect(await isActive(token)).toBe(false)
      expect(JSON.parse(server.log.at(-1) ?? '')).toMatchObject({ route: 'introspect', cause: 'token expired' })
    } finally {
      offset = 0
    }
    expect(
      await isActive(await resigned(token, keyring, { payload: { exp: Math.floor(Date.now() / 1000) - 1 } })),
    ).toBe(false)
  })

  test('of another realm', async () => {
    const { body } = await server.request('/auth/realms/elsewhere/protocol/openid-connect/token', {
      form: { ...ALICE, client_id: 'shop', client_secret: SHOP_SECRET },
    })
    expect(await isActive(body.access_token)).toBe(false)
  })

  test('of a session that ended', async () => {
    const { access_token: token } = await login()
    await endSessions(server.database.pool, { realm: 'acme', subject: alice.subject }, 'password_changed', new Date())
    expect(await isActive(token)).toBe(false)
    expect(JSON.parse(server.log.at(-1) ?? '')).toMatchObject({ clientId: 'shop', cause: 'session ended' })
  })

  test('of a session that was swept', async () => {
    const { access_token: token } = await login()
    await server.database.pool.query('delete from sessions where sid = $1', [tokenParts(token).payload.sid])
    expect(await isActive(token)).toBe(false)
  })

  test('of a session that never was', async () => {
    const { access_token: token } = await login()
    expect(await isActive(await resigned(token, keyring, { payload: { sid: randomUUID() } }))).toBe(false)
  })

  test('of a user who is disabled', async () => {
    const { access_token: token } = await login()
    await upsertUser(server.database.pool, { ...alice, enabled: false })
    expect(await isActive(token)).toBe(false)
    await upsertUser(server.database.pool, alice)
    expect(await isActive(token)).toBe(true)
  })

  test('of a client that is disabled', async () => {
    const secret = 'shortlived-secret'
    const row = await server.addClient({ clientId: 'shortlived', settings: { audiences: ['shop'] } }, secret)
    const { body } = await eventually(async () => {
      const answer = await server.token({ ...ALICE, client_id: 'shortlived', client_secret: secret })
      expect(answer.status).toBe(200)
      return answer
    })
    expect(await isActive(body.access_token)).toBe(true)
    await server.addClient({ ...row, enabled: false })
    await eventually(async () => expect(await isActive(body.access_token)).toBe(false))
  })

  test('issued before notBefore', async () => {
    const { access_token: token } = await login()
    expect(await isActive(token)).toBe(true)
    const notBefore = new Date(Date.now() + 5000).toISOString()
    await server.addRealm({ ...realm, tokens: { ...realm.tokens, notBefore } }, null)
    await eventually(async () => expect(await isActive(token)).toBe(false))
    await server.addRealm(realm, null)
    await eventually(async () => expect(await isActive(token)).toBe(true))
  })
})

test('row 40: an algorithm that is not the key’s own', async () => {
  const { access_token: token } = await login()
  const { header } = tokenParts(token)
  const rsaKid = keyring.signing[1]?.kid
  for (const alg of ['none', 'None', 'NONE', 'HS256', 'HS512', 'RS256', 'ES384', 'PS256', 'EdDSA', '']) {
    expect(await isActive(withHeader(token, { ...header, alg })), alg).toBe(false)
    expect(await isActive(withHeader(token, { ...header, alg }, '')), `${alg}, unsigned`).toBe(false)
  }
  expect(await isActive(await hmacWithPublicKey(token, keyring))).toBe(false)
  expect(await isActive(withHeader(token, { ...header, kid: rsaKid }))).toBe(false)
  expect(await isActive(await resigned(token, keyring, { header: { crit: ['exp'] } }))).toBe(false)
  expect(await isActive(await resigned(token, keyring, { header: { b64: false, crit: ['b64'] } }))).toBe(false)
})

test('row 41: a kid that names no key', async () => {
  const { access_token: token } = await login()
  const { header } = tokenParts(token)
  const kids = [
    undefined,
    '',
    'unknown',
    '../../x',
    "x' or '1'='1",
    'k'.repeat(9_000),
    7,
    null,
    '__proto__',
    'constructor',
    {},
  ]
  for (const kid of kids) expect(await isActive(withHeader(token, { ...header, kid })), JSON.stringify(kid)).toBe(false)
})

test('row 42: keys in the header are not fetched and not used', async () => {
  const { access_token: token } = await login()
  const foreign = await realmKeyring()
  const { d: _, ...jwk } = foreign.signing[0]!.jwk
  let fetched = false
  const lure = createServer((_req, res) => {
    fetched = true
    res.end(JSON.stringify({ keys: [jwk] }))
  })
  await new Promise<void>((resolve) => lure.listen(0, '127.0.0.1', resolve))
  const address = lure.address()
  const jku = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/`
  try {
    for (const kid of [foreign.signing[0]!.kid, keyring.signing[0]!.kid]) {
      for (const header of [
        { kid, jwk },
        { kid, jku },
        { kid, x5u: jku },
      ]) {
        expect(await isActive(await resigned(token, foreign, { header }))).toBe(false)
      }
    }
    expect(fetched).toBe(false)
  } finally {
    lure.close()
  }
})

test('row 43: only the exact text', async () => {
  const { access_token: token } = await login()
  expect(await isActive(token)).toBe(true)
  const [head, body, signature] = token.split('.')
  for (const text of [
    `${head}.${body}`,
    `${head}.${body}.`,
    `${token}.`,
    `${token}.${signature}`,
    `${token}=`,
    ` ${token}`,
    `${token} `,
    `${token}\n`,
    token.replaceAll('.', '\uff0e'),
    token.slice(0, -1),
    // The letter after "z", eight bits on: what a careless hash of the token would not see.
    token.replace('e', '\u0165'),
  ]) {
    expect(await isActive(text), JSON.stringify(text)).toBe(false)
  }
})

test('row 44: claims of another type, though we had signed them', async () => {
  const { access_token: token } = await login()
  expect(await isActive(await resigned(token, keyring, {}))).toBe(true)
  const later = Math.floor(Date.now() / 1000) + 300
  const deep: unknown = JSON.parse(`${'{"a":'.repeat(100)}1${'}'.repeat(100)}`)
  for (const payload of [
    { exp: String(later) },
    { exp: later + 0.5 },
    { exp: -1 },
    { exp: [later] },
    { exp: null },
    { iat: later },
    { iat: undefined },
    { sid: 'not-a-session' },
    { sid: 7 },
    { sub: 'other-subject' },
    { azp: 'other' },
    { aud: 7 },
    { scope: ['openid'] },
    { realm_access: { roles: 'reader' } },
    { more: deep },
    { iss: `${server.url}/realms/acme` },
  ]) {
    expect(await isActive(await resigned(token, keyring, { payload })), JSON.stringify(payload).slice(0, 60)).toBe(
      false,
    )
  }
})

test('row 45: refresh and ID tokens are not access tokens', async () => {
  const { refresh_token: refresh, id_token: id, access_token: access } = await login()
  for (const token of [refresh, id, await resigned(access, keyring, { payload: { typ: 'ID' } })]) {
    expect(await isActive(token)).toBe(false)
  }
  expect(await isActive(await resigned(access, keyring, { header: { typ: 'JWT' } }))).toBe(true)
  expect(await isActive(await resigned(access, keyring, { header: { typ: 'rk-license+jwt' } }))).toBe(false)
})

test('row 54: pages of origins that the client lists may read it, others may not', async () => {
  await server.addClient({ ...shop, settings: { ...shop.settings, webOrigins: ['https://shop.example'] } })
  const { access_token: token } = await login()
  const asked = (origin: string) =>
    server.request('token/introspect', {
      form: { client_id: 'shop', client_secret: SHOP_SECRET, token },
      headers: { origin },
    })
  await eventually(async () => {
    const { headers } = await asked('https://shop.example')
    expect(headers.get('access-control-allow-origin')).toBe('https://shop.example')
    expect(headers.get('access-control-allow-credentials')).toBe('true')
    expect(headers.get('vary')).toBe('Origin')
  })
  for (const origin of ['null', 'https://shop.example.evil', 'https://evil-shop.example', 'http://shop.example', '*']) {
    const { status, headers } = await asked(origin)
    expect(status).toBe(200)
    expect(headers.get('access-control-allow-origin'), origin).toBeNull()
  }
})
