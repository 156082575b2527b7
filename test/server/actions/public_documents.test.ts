import { createPublicKey } from 'node:crypto'
import { request as rawRequest } from 'node:http'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Keyring } from '../../../keyring/keyring.ts'
import type { RealmRow } from '../../../store/realms.ts'
import { databaseLine } from '../../support/database_line.ts'
import type { DatabaseLine } from '../../support/database_line.ts'
import { realmKeyring } from '../../support/realm_keyring.ts'
import { ALICE, addAcme, startServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'
import { eventually } from '../../support/eventually.ts'

let server: TestServer
let keyring: Keyring
let realm: RealmRow
let database: DatabaseLine
const DISCOVERY = [
  '/auth/realms/acme/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server/auth/realms/acme',
]
const CERTS = '/auth/realms/acme/protocol/openid-connect/certs'
const INFO = '/auth/realms/acme'

beforeAll(async () => {
  keyring = await realmKeyring({ algorithms: ['ES256', 'RS256', 'EdDSA'] })
  database = await databaseLine()
  server = await startServer({
    database,
    async prepare(world) {
      ;({ realm } = await addAcme({ ...world, addRealm: (row) => world.addRealm(row, keyring) }))
      await world.addRealm({ realm: 'off', enabled: false })
    },
  })
})
afterAll(async () => {
  await server?.stop()
  await database?.drop()
})

test('any page may read all of them, without credentials, and caches may store them for five minutes', async () => {
  for (const path of [...DISCOVERY, CERTS, INFO]) {
    const { status, headers } = await server.request(path, { headers: { origin: 'https://page.example' } })
    expect(status, path).toBe(200)
    expect(headers.get('access-control-allow-origin')).toBe('*')
    expect(headers.get('access-control-allow-credentials')).toBeNull()
    expect(headers.get('cache-control')).toBe('public, max-age=300')
    expect(headers.get('content-type')).toBe('application/json')
    expect(headers.get('pragma')).toBeNull()
  }
})

test('an unknown realm is 404, a disabled one 403', async () => {
  for (const path of [...DISCOVERY, CERTS, INFO]) {
    const unknown = await server.request(path.replace('acme', 'unknown'))
    expect([unknown.status, unknown.body.error_description]).toEqual([404, 'Realm does not exist'])
    const disabled = await server.request(path.replace('acme', 'off'))
    expect([disabled.status, disabled.body.error_description]).toEqual([403, 'Realm not enabled'])
  }
})

describe('discovery', () => {
  test('is the same at both places, and at no other', async () => {
    const [openid, oauth] = await Promise.all(DISCOVERY.map((path) => server.request(path)))
    expect(oauth!.text).toBe(openid!.text)
    for (const path of [
      '/realms/acme/.well-known/openid-configuration',
      '/.well-known/oauth-authorization-server/realms/acme',
      '/.well-known/openid-configuration/auth/realms/acme',
      `${DISCOVERY[0]}/`,
    ]) {
      expect((await server.request(path)).status, path).toBe(404)
    }
  })

  test('lists what is served', async () => {
    const { body } = await server.request(DISCOVERY[0]!)
    const issuer = `${server.url}/auth/realms/acme`
    expect(body).toMatchObject({
      issuer,
      token_endpoint: `${issuer}/protocol/openid-connect/token`,
      introspection_endpoint: `${issuer}/protocol/openid-connect/token/introspect`,
      userinfo_endpoint: `${issuer}/protocol/openid-connect/userinfo`,
      revocation_endpoint: `${issuer}/protocol/openid-connect/revoke`,
      jwks_uri: `${issuer}/protocol/openid-connect/certs`,
      grant_types_supported: ['password', 'refresh_token'],
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256', 'RS256', 'EdDSA'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
      introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
      request_uri_parameter_supported: false,
    })
  })

  test('lists nothing else', async () => {
    const { body } = await server.request(DISCOVERY[0]!)
    for (const [member, value] of Object.entries(body)) {
      if (typeof value !== 'string' || !/_(?:endpoint|uri)$/.test(member)) continue
      const { status } = await server.request(value.slice(server.url.length), { method: 'OPTIONS' })
      expect(status, member).toBe(204)
    }
    expect(body).not.toHaveProperty('end_session_endpoint')
    expect(body).not.toHaveProperty('authorization_endpoint')
  })

  test('row 53: neither Host nor an absolute target changes the issuer', async () => {
    const issuers = await Promise.all(
      [
        { headers: { host: 'evil.example:80@good' }, path: DISCOVERY[0]! },
        {
          headers: { host: 'evil.example', 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example' },
          path: DISCOVERY[0]!,
        },
        { headers: { 'x-forwarded-proto': 'https', 'x-forwarded-port': '443' }, path: DISCOVERY[0]! },
        { headers: {}, path: `http://evil.example${DISCOVERY[0]}` },
      ].map((options) => rawIssuer(options)),
    )
    expect(issuers).toEqual(issuers.map(() => `${server.url}/auth/realms/acme`))
    const { body } = await server.request('/realms/acme/protocol/openid-connect/token', {
      form: { ...ALICE, client_id: 'app' },
      headers: { 'x-forwarded-host': 'evil.example' },
    })
    const claims = JSON.parse(Buffer.from(body.access_token.split('.')[1], 'base64url').toString())
    expect(claims.iss).toBe(`${server.url}/auth/realms/acme`)
  })
})

/** What fetch does not let one send. */
function rawIssuer({ headers, path }: { headers: Record<string, string>; path: string }): Promise<string> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(server.url)
    const sent = rawRequest({ host: '127.0.0.1', port, path, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => (text += part))
      response.on('end', () => resolve(JSON.parse(text).issuer))
    })
    sent.on('error', reject).end()
  })
}

describe('certs', () => {
  test('row 56: public members only', async () => {
    const { body } = await server.request(CERTS)
    expect(body.keys.map(({ alg }: { alg: string }) => alg)).toEqual(['ES256', 'RS256', 'EdDSA'])
    const members = { ES256: ['crv', 'x', 'y'], RS256: ['e', 'n'], EdDSA: ['crv', 'x'] }
    for (const [alg, own] of Object.entries(members)) {
      const key = body.keys.find((each: { alg: string }) => each.alg === alg)
      expect(Object.keys(key).toSorted()).toEqual(['alg', 'kid', 'kty', 'use', ...own].toSorted())
    }
    for (const { jwk } of keyring.signing) expect(JSON.stringify(body)).not.toContain(String(jwk.d))
    for (const { key } of [...keyring.refresh, ...keyring.encryption]) expect(JSON.stringify(body)).not.toContain(key)
  })

  test('verify the tokens of this realm', async () => {
    const { body: keys } = await server.request(CERTS)
    const { body: tokens } = await server.token(ALICE)
    const { payload, protectedHeader } = await jwtVerify(tokens.access_token, createLocalJWKSet(keys), {
      issuer: `${server.url}/auth/realms/acme`,
      typ: 'at+jwt',
    })
    expect(payload.azp).toBe('shop')
    expect(protectedHeader.kid).toBe(keyring.signing[0]!.kid)
  })
})

test('realm info', async () => {
  const { body } = await server.request(INFO)
  expect(Object.keys(body)).toEqual(['realm', 'public_key', 'token-service', 'tokens-not-before'])
  expect(body).toMatchObject({
    realm: 'acme',
    'token-service': `${server.url}/auth/realms/acme/protocol/openid-connect`,
    'tokens-not-before': 0,
  })
  const key = createPublicKey({ key: Buffer.from(body.public_key, 'base64'), format: 'der', type: 'spki' })
  expect(key.export({ format: 'jwk' })).toMatchObject({ x: keyring.signing[0]!.jwk.x })

  await server.addRealm({ ...realm, tokens: { ...realm.tokens, notBefore: '2030-01-01T00:00:00Z' } }, null)
  await eventually(async () => {
    expect((await server.request(INFO)).body['tokens-not-before']).toBe(1_893_456_000)
  })
  await server.addRealm(realm, null)
})

test('a realm whose keyring was never loaded: 503, and Retry-After', async () => {
  await server.addRealm({ realm: 'keyless' }, null)
  await eventually(async () => {
    for (const path of [...DISCOVERY, CERTS, INFO]) {
      const { status, headers, body } = await server.request(path.replace('acme', 'keyless'))
      expect([status, body.error], path).toEqual([503, 'keyring_unavailable'])
      expect(headers.get('retry-after')).toMatch(/^[0-9]+$/)
    }
  })
})

test('row 55: they are answered while Postgres is away, and nothing else is', async () => {
  const before = await Promise.all([...DISCOVERY, CERTS, INFO].map((path) => server.request(path)))
  const { body: tokens } = await server.token(ALICE)
  database.cut()
  try {
    await eventually(async () => expect((await server.token(ALICE)).status).toBe(503))
    // For so long that nothing else is answered from memory any more.
    await eventually(async () => {
      const { checks } = JSON.parse(await (await fetch(`${server.healthUrl}/readyz`)).text())
      expect(checks.changes).toBe('the change log is not followed')
    })
    const during = await Promise.all([...DISCOVERY, CERTS, INFO].map((path) => server.request(path)))
    expect(during.map(({ status, text }) => [status, text])).toEqual(before.map(({ text }) => [200, text]))
    expect(during[2]!.headers.get('cache-control')).toBe('public, max-age=300')
    const userinfo = await server.request('userinfo', { headers: { authorization: `Bearer ${tokens.access_token}` } })
    expect([userinfo.status, userinfo.body.error]).toEqual([503, 'temporarily_unavailable'])
    expect(userinfo.headers.get('retry-after')).toMatch(/^[0-9]+$/)
  } finally {
    database.mend()
  }
  await eventually(async () => expect((await server.token(ALICE)).status).toBe(200))
})
