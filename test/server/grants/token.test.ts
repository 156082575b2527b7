import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addAcme, ALICE, startServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'
import { atHash, claimsOf, headerOf, verifiesByJwks } from '../../support/tokens.ts'

/** For what comes through the change log, on a machine that may be busy. */
const SOON = { timeout: 120_000, interval: 20 }

let server: TestServer
let sub: string
beforeAll(async () => {
  server = await startServer({
    prepare: async (world) => {
      const { alice } = await addAcme(world, {
        realm: {
          roles: ['reader', 'writer', 'auditor'].map((name) => ({ name, composites: [] })),
          fields: [{ name: 'dateOfBirth', tag: 'dob', binding: 'Realm', maxValueBytes: 4096 }],
        },
        client: { settings: { webOrigins: ['https://shop.test'], audiences: ['orders'], optionalScopes: ['offers'] } },
        user: { emailVerified: true },
      })
      sub = alice.subject
      await world.addClient({ clientId: 'narrow', settings: { fullScopeAllowed: false, allowedRoles: ['reader'] } })
      await world.addClient({
        clientId: 'plain',
        settings: { accessTokenType: 'JWT', accessTokenLifetimeSeconds: 60, defaultScopes: [] },
      })
      // What no Client may list: the role alone gives such a scope, wherever it stands.
      await world.addClient({ clientId: 'eager', settings: { defaultScopes: ['_svc_dob.selfencrypt', 'email'] } })
      await world.grant('acme', sub, ['reader', 'undefined-role', '_svc_dob.selfdecrypt', '_svc_gone.selfencrypt'])
      await world.grant('acme', 'everybody', ['writer'])
    },
  })
})
afterAll(() => server.stop())

describe('a login', () => {
  test('answers the members of protocol.md in their order, and nothing else', async () => {
    const { status, headers, body } = await server.token({ ...ALICE, scope: undefined })
    expect(status).toBe(200)
    expect(Object.keys(body)).toEqual([
      'access_token',
      'expires_in',
      'refresh_expires_in',
      'refresh_token',
      'token_type',
      'id_token',
      'not-before-policy',
      'session_state',
      'scope',
    ])
    expect(body).toMatchObject({
      expires_in: 300,
      refresh_expires_in: 1800,
      token_type: 'bearer',
      'not-before-policy': 0,
      scope: 'openid profile email',
    })
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('pragma')).toBe('no-cache')
    expect(headers.get('content-type')).toBe('application/json')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('x-frame-options')).toBe('SAMEORIGIN')
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    expect(headers.get('strict-transport-security')).toBeNull()
  })

  test('gives an access token that says who, for whom, through what and until when', async () => {
    const { body } = await server.token(ALICE)
    const { iat, exp, jti, ...claims } = claimsOf(body.access_token)
    expect(headerOf(body.access_token)).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: expect.any(String) })
    expect(claims).toEqual({
      iss: `${server.url}/auth/realms/acme`,
      sub,
      aud: ['shop', 'orders'],
      azp: 'shop',
      client_id: 'shop',
      sid: body.session_state,
      typ: 'Bearer',
      scope: 'openid profile email',
      realm_access: { roles: ['_svc_dob.selfdecrypt', 'reader', 'writer'] },
      acr: '1',
      'allowed-origins': ['https://shop.test'],
      preferred_username: 'alice',
      name: 'Alice Ames',
      given_name: 'Alice',
      family_name: 'Ames',
      email: 'alice@example.test',
      email_verified: true,
    })
    expect(Number(exp) - Number(iat)).toBe(300)
    expect(jti).toMatch(/^[0-9a-f-]{36}$/)
    expect(await verifiesByJwks(server, body.access_token)).toBe(true)
  })

  test('gives an ID token without roles, bound to the access token', async () => {
    const { body } = await server.token(ALICE)
    const { iat, exp, jti, auth_time: authTime, ...claims } = claimsOf(body.id_token)
    expect(claims).toEqual({
      iss: `${server.url}/auth/realms/acme`,
      sub,
      aud: 'shop',
      azp: 'shop',
      at_hash: atHash(body.access_token),
      sid: body.session_state,
      typ: 'ID',
      acr: '1',
      preferred_username: 'alice',
      name: 'Alice Ames',
      given_name: 'Alice',
      family_name: 'Ames',
      email: 'alice@example.test',
      email_verified: true,
    })
    expect(Number(exp) - Number(iat)).toBe(300)
    expect(authTime).toBe(iat)
    expect(jti).not.toBe(claimsOf(body.access_token).jti)
    expect(await verifiesByJwks(server, body.id_token)).toBe(true)
  })

  test('gives a refresh token that is a JWT of this realm alone', async () => {
    const { body } = await server.token(ALICE)
    expect(headerOf(body.refresh_token)).toEqual({ alg: 'HS512', typ: 'JWT', kid: expect.any(String) })
    const { iat, exp, jti, ...claims } = claimsOf(body.refresh_token)
    const issuer = `${server.url}/auth/realms/acme`
    expect(claims).toEqual({
      iss: issuer,
      aud: issuer,
      sub,
      azp: 'shop',
      sid: body.session_state,
      gen: 0,
      typ: 'Refresh',
    })
    expect(Number(exp) - Number(iat)).toBe(1800)
    expect(jti).toMatch(/^[\w-]{22}$/)
  })

  test('without openid gives no ID token', async () => {
    const { body } = await server.token({ ...ALICE, scope: 'offers' })
    expect(body).toMatchObject({ scope: 'offers profile email' })
    expect(body).not.toHaveProperty('id_token')
  })

  test('through a client of other settings: plain type, own lifetime, no default scopes', async () => {
    const { body } = await server.token({ ...ALICE, client_id: 'plain', client_secret: undefined })
    expect(headerOf(body.access_token)).toMatchObject({ typ: 'JWT' })
    expect(body).toMatchObject({ expires_in: 60, scope: 'openid' })
    expect(claimsOf(body.access_token)).toMatchObject({ aud: 'plain', 'allowed-origins': [] })
    expect(claimsOf(body.access_token)).not.toHaveProperty('email')
    expect(claimsOf(body.id_token)).not.toHaveProperty('preferred_username')
  })

  test('through a client without full scope carries only the roles that it is allowed', async () => {
    const { body } = await server.token({
      ...ALICE,
      client_id: 'narrow',
      client_secret: undefined,
      scope: 'openid _svc_dob.selfdecrypt',
    })
    expect(claimsOf(body.access_token).realm_access).toEqual({ roles: ['reader'] })
    expect(body.scope).toBe('openid profile email')
  })

  test('works without the /auth prefix, and the issuer stays the same', async () => {
    const { body } = await server.token(ALICE, {})
    const plain = await server.request('/realms/acme/protocol/openid-connect/token', {
      form: { ...ALICE, client_id: 'app' },
    })
    expect(plain.status).toBe(200)
    expect(claimsOf(plain.body.access_token).iss).toBe(claimsOf(body.access_token).iss)
  })

  test('finds the user in any letter case and Unicode form', async () => {
    expect(await server.token({ ...ALICE, username: 'ＡLICE' })).toMatchObject({ status: 200 })
  })
})

describe('scopes of fields', () => {
  test('are granted where the user holds the role, and left out where not, without a difference between unknown and foreign', async () => {
    const scope = 'openid _svc_dob.selfdecrypt _svc_dob.selfencrypt _svc_gone.selfencrypt _svc_never.selfdecrypt'
    const { status, body } = await server.token({ ...ALICE, scope })
    expect(status).toBe(200)
    expect(body.scope).toBe('openid _svc_dob.selfdecrypt profile email')
  })

  test('are never a default scope of a client, even if its row lists them', async () => {
    const { body } = await server.token({ ...ALICE, client_id: 'eager', client_secret: undefined })
    expect(body.scope).toBe('openid email')
  })

  test.for(['_svc_DOB.selfdecrypt', '_svc_dob.selfdestroy', '_svc_.selfencrypt', `_svc_${'x'.repeat(49)}.selfencrypt`])(
    'are no scopes in another shape: %s',
    async (scope) => {
      expect(await server.token({ ...ALICE, scope })).toMatchObject({ status: 400, body: { error: 'invalid_scope' } })
    },
  )
})

describe('what is refused', () => {
  const invalidRequest = (error_description: string) => ({
    status: 400,
    body: { error: 'invalid_request', error_description },
  })
  const invalidScope = { status: 400, body: { error: 'invalid_scope', error_description: 'Invalid scopes' } }
  const badCredentials = {
    status: 401,
    body: { error: 'invalid_grant', error_description: 'Invalid user credentials' },
  }
  const many = Array.from({ length: 60 }, (_, at) => `scope${at}`).join(' ')

  test.for<[string, Record<string, string | undefined>, object]>([
    ['row 3: no grant_type', { ...ALICE, grant_type: undefined }, invalidRequest('Missing form parameter: grant_type')],
    ['row 3: an empty grant_type', { ...ALICE, grant_type: '' }, invalidRequest('Missing form parameter: grant_type')],
    [
      'row 4: an unknown grant_type',
      { ...ALICE, grant_type: 'client_credentials' },
      { status: 400, body: { error: 'unsupported_grant_type', error_description: 'Unsupported grant_type' } },
    ],
    [
      'row 4: a very long grant_type',
      { ...ALICE, grant_type: 'x'.repeat(30_000) },
      { status: 400, body: { error: 'unsupported_grant_type', error_description: 'Unsupported grant_type' } },
    ],
    ['row 4: a grant_type named as a member of every object', { ...ALICE, grant_type: 'constructor' }, { status: 400 }],
    ['a scope that the client has not', { ...ALICE, scope: 'openid admin' }, invalidScope],
    ['row 9: a scope of 5,000 characters', { ...ALICE, scope: 'x'.repeat(5_000) }, invalidScope],
    ['row 9: sixty scopes', { ...ALICE, scope: many }, invalidScope],
    ['row 9: a scope with a control character', { ...ALICE, scope: 'openid\u0007' }, invalidScope],
    ['row 9: a scope with a tab', { ...ALICE, scope: 'openid\tprofile' }, invalidScope],
    ['no username', { ...ALICE, username: undefined }, invalidRequest('Missing parameter: username')],
    ['row 19: an empty password', { ...ALICE, password: '' }, invalidRequest('Missing parameter: password')],
    [
      'row 19: a password with NUL',
      { ...ALICE, password: 'a\0b' },
      { status: 400, body: { error: 'invalid_request' } },
    ],
    ['row 19: a password of spaces', { ...ALICE, password: '   ' }, badCredentials],
    ['row 19: a password with a newline behind it', { ...ALICE, password: `${ALICE.password}\n` }, badCredentials],
    ['row 19: an over-long password', { ...ALICE, password: 'x'.repeat(1025) }, badCredentials],
    ['an unknown user', { ...ALICE, username: 'unknown' }, badCredentials],
    ['a wrong password', { ...ALICE, password: 'wrong' }, badCredentials],
    [
      'row 20: a user name with NUL',
      { ...ALICE, username: 'a\0b' },
      { status: 400, body: { error: 'invalid_request' } },
    ],
    ['row 20: a user name of 10 KB', { ...ALICE, username: 'x'.repeat(10_240) }, badCredentials],
    ['row 20: a user name written from right to left', { ...ALICE, username: '\u202eecila' }, badCredentials],
    ['row 20: a user name with a letter that looks the same', { ...ALICE, username: 'аlice' }, badCredentials],
    ['row 20: a user name that would like to be SQL', { ...ALICE, username: "' OR 1=1--" }, badCredentials],
    ['row 20: a user name with the wildcards of SQL', { ...ALICE, username: '%_lice' }, badCredentials],
    ['a refresh without a token', { grant_type: 'refresh_token' }, invalidRequest('No refresh token')],
  ])('%s', async ([, form, expected]) => {
    const answer = await server.token(form)
    expect(answer).toMatchObject(expected)
    expect(answer.headers.get('www-authenticate')).toBeNull()
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('pragma')).toBe('no-cache')
  })

  test('row 9: words given twice count once', async () => {
    const { body } = await server.token({ ...ALICE, scope: 'openid  openid profile openid' })
    expect(body.scope).toBe('openid profile email')
  })

  test('row 20: a lone surrogate in a user name', async () => {
    const body = `grant_type=password&client_id=app&username=%ED%A0%80&password=x`
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    expect(await server.request('token', { body, headers })).toMatchObject(invalidRequest('malformed parameter'))
  })

  test('row 15: a grant that the client may not use', async () => {
    await server.addClient({ clientId: 'refresh-only', settings: { grantTypes: ['refresh_token'] } })
    await expect
      .poll(() => server.token({ ...ALICE, client_id: 'refresh-only', client_secret: undefined }), SOON)
      .toMatchObject({
        status: 400,
        body: { error: 'unauthorized_client', error_description: 'Client not allowed for this grant' },
      })
  })
})

describe('passwords', () => {
  test('row 19: composed and decomposed letters are one password', async () => {
    await server.addUser({ username: 'zoe' }, 'Zoë’s pässword'.normalize('NFC'))
    for (const form of ['NFC', 'NFD'] as const) {
      const answer = await server.token({ ...ALICE, username: 'zoe', password: 'Zoë’s pässword'.normalize(form) })
      expect(answer).toMatchObject({ status: 200 })
    }
  })

  test('a user without one cannot log in', async () => {
    await server.addUser({ username: 'robot' })
    expect(await server.token({ ...ALICE, username: 'robot', password: 'x' })).toMatchObject({
      status: 401,
      body: { error: 'invalid_grant', error_description: 'Invalid user credentials' },
    })
  })

  test('a disabled user gets its own error only after the right password', async () => {
    await server.addUser({ username: 'dora', enabled: false }, 'dora-password')
    const login = { ...ALICE, username: 'dora' }
    expect(await server.token({ ...login, password: 'wrong' })).toMatchObject({
      status: 401,
      body: { error: 'invalid_grant', error_description: 'Invalid user credentials' },
    })
    expect(await server.token({ ...login, password: 'dora-password' })).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant', error_description: 'Account disabled' },
    })
  })

  test('a grant that has expired gives no role', async () => {
    const { subject } = await server.addUser({ username: 'eva' }, 'eva-password')
    await server.grant('acme', subject, ['auditor'], new Date(Date.now() - 1))
    const { body } = await server.token({ ...ALICE, username: 'eva', password: 'eva-password' })
    expect(claimsOf(body.access_token).realm_access).toEqual({ roles: ['writer'] })
  })
})
