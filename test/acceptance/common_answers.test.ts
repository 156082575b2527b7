import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Deps } from '../../server/deps.ts'
import { routes } from '../../server/routes.ts'
import type { Route } from '../../server/routes.ts'
import { sendRaw } from '../support/raw_http.ts'
import { addAcme, ALICE, SHOP_SECRET, startServer } from '../support/server.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { claimsOf } from '../support/tokens.ts'

// What holds for every endpoint and every request.

let server: TestServer
let secure: TestServer
beforeAll(async () => {
  server = await startServer({
    prepare: async (world) => {
      await addAcme(world)
      await world.addRealm({ realm: 'closed', enabled: false })
    },
  })
  secure = await startServer({ config: { baseUrl: 'https://id.example.test/sso' } })
})
afterAll(async () => {
  await server?.stop()
  await secure?.stop()
})

// The table of the server itself, so that none is forgotten; nothing of it is called.
const ALL = routes({} as Deps).flatMap((route): Route[] =>
  route.path.startsWith('{/auth}')
    ? ['', '/auth'].map((prefix) => ({ ...route, path: route.path.replace('{/auth}', prefix) }))
    : [route],
)
const CANARY = 'zz9-canary-9zz'
const NAMES = ALL.map((route): [string, Route] => [`${route.method} ${route.path}`, route])

/** A malformed request, full of a text that must not come back. */
function odd({ method, path, body }: Route, realm: string, on = server, otherMethod?: string): Promise<TestAnswer> {
  const headers = {
    authorization: `Bearer ${CANARY}`,
    'x-request-id': CANARY,
    'user-agent': CANARY,
    cookie: `${CANARY}=${CANARY}`,
    ...(body === 'json' && { 'content-type': 'application/json' }),
    ...(body.endsWith('form') && { 'content-type': 'application/x-www-form-urlencoded' }),
  }
  const content = body === 'json' ? `{"${CANARY}":"${CANARY}"` : `${CANARY}=${CANARY}&grant_type=${CANARY}`
  return on.request(`${path.replace(':realm', realm)}?${CANARY}=${CANARY}`, {
    method: otherMethod ?? method,
    headers,
    ...((otherMethod ?? method) !== 'GET' && { body: content }),
  })
}

function expectCommonHeaders({ headers }: TestAnswer): void {
  expect(headers.get('referrer-policy')).toBe('no-referrer')
  expect(headers.get('x-content-type-options')).toBe('nosniff')
  expect(headers.get('x-frame-options')).toBe('SAMEORIGIN')
  expect(headers.get('x-request-id')).toMatch(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  expect(headers.get('content-type')).toBe('application/json')
  expect(headers.get('server')).toBeNull()
  expect(headers.get('x-powered-by')).toBeNull()
}

function expectError(answer: TestAnswer, status: number): void {
  expect(answer.status).toBe(status)
  expectCommonHeaders(answer)
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(Object.keys(answer.body)).toEqual(['error', 'error_description'])
  // RFC 6749 section 5.2.
  expect(answer.body.error).toMatch(/^[a-z_]+$/)
  expect(answer.body.error_description).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/)
  expect(answer.text + JSON.stringify([...answer.headers])).not.toContain(CANARY)
  expect(answer.text).not.toMatch(/\bat .*\.ts\b|node_modules|Error:/)
}

test('the table lists eleven endpoints with and without the prefix, and discovery at two places', () => {
  expect(ALL).toHaveLength(24)
})

describe('a malformed request', () => {
  test.for(NAMES)('%s', async ([, route]) => {
    const answer = await odd(route, 'acme')
    if (route.isPublic) {
      expect(answer.status).toBe(200)
      expectCommonHeaders(answer)
      expect(answer.headers.get('cache-control')).toBe('public, max-age=300')
      expect(answer.text).not.toContain(CANARY)
      return
    }
    expectError(answer, answer.status)
    expect([400, 401]).toContain(answer.status)
  })
})

describe('row 16: an unknown realm', () => {
  test.for(NAMES)('%s', async ([, route]) => {
    const answer = await odd(route, CANARY)
    expectError(answer, 404)
    expect(answer.body).toEqual({ error: 'realm_not_found', error_description: 'Realm does not exist' })
  })
})

describe('row 17: a disabled realm', () => {
  test.for(NAMES)('%s', async ([, route]) => {
    const answer = await odd(route, 'closed')
    expectError(answer, 403)
    expect(answer.body).toEqual({ error: 'access_denied', error_description: 'Realm not enabled' })
  })
})

describe('row 1: another method', () => {
  test.for(NAMES)('%s', async ([, route]) => {
    for (const method of ['PUT', 'DELETE', 'PATCH']) {
      const answer = await odd(route, 'acme', server, method)
      expectError(answer, 405)
      expect(answer.headers.get('allow')?.split(', ')).toEqual(expect.arrayContaining([route.method, 'OPTIONS']))
    }
  })
})

describe('text of the caller is not taken over', () => {
  test('each request has an id of its own, which its line in the log carries', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => server.token(ALICE, { headers: { 'x-request-id': CANARY } })))
    const ids = answers.map(({ headers }) => headers.get('x-request-id') ?? '')
    expect(new Set(ids).size).toBe(3)
    for (const id of ids) expect(server.log.filter((line) => line.includes(id))).toHaveLength(1)
    expect(server.log.join('')).not.toContain(CANARY)
  })

  test('no label of a metric and no line of the log holds anything that was sent', async () => {
    const metrics = await (await fetch(`${server.healthUrl}/metrics`)).text()
    expect(metrics).toContain('route="token"')
    expect(metrics).not.toContain(CANARY)
    const series = metrics.split('\n').filter((line) => line.startsWith('realmkeeper_http_requests_total{'))
    // Routes, methods and statuses are closed sets.
    for (const line of series) {
      expect(line).toMatch(/\{route="[a-z_]+",method="(?:GET|HEAD|POST|OPTIONS|other)",status="\d{3}"\}/)
    }
    expect(series.length).toBeLessThan(150)
  })
})

describe('behind an https base URL with a path', () => {
  test('every answer carries Strict-Transport-Security, also to a request over http', async () => {
    for (const answer of [
      await secure.token(ALICE),
      await secure.token({ ...ALICE, password: 'wrong' }),
      await secure.request('certs'),
      await secure.request('/nowhere'),
      await secure.request('token', { method: 'PUT' }),
    ]) {
      expect(answer.headers.get('strict-transport-security')).toBe('max-age=31536000')
    }
    expect((await server.request('certs')).headers.get('strict-transport-security')).toBeNull()
  })

  test('the refusal of bytes that are no HTTP carries it as well', async () => {
    const refused = 'GET / HTTP/9.9\r\n\r\n'
    expect(await sendRaw(secure.url, refused)).toMatch(/^Strict-Transport-Security: max-age=31536000\r$/m)
    expect(await sendRaw(server.url, refused)).not.toContain('Strict-Transport-Security')
  })

  test('issuer and endpoints begin with it', async () => {
    const issuer = 'https://id.example.test/sso/auth/realms/acme'
    const { body: tokens } = await secure.token(ALICE)
    for (const token of [tokens.access_token, tokens.id_token, tokens.refresh_token]) {
      expect(claimsOf(token).iss).toBe(issuer)
    }
    const { body } = await secure.request('/auth/realms/acme/.well-known/openid-configuration')
    expect(body.issuer).toBe(issuer)
    expect(body.token_endpoint).toBe(`${issuer}/protocol/openid-connect/token`)
    const introspected = await secure.request('token/introspect', {
      form: { client_id: 'shop', client_secret: SHOP_SECRET, token: tokens.access_token },
    })
    expect(introspected.body.active).toBe(true)
  })
})
