import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { openRaw, sendRaw, statusOf } from '../support/raw_http.ts'
import { addAcme, ALICE, SHOP_SECRET, startServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

// What HTTP allows, or nearly allows, and no client library sends.

const OIDC = '/auth/realms/acme/protocol/openid-connect'
const FORM = 'Content-Type: application/x-www-form-urlencoded'
const LOGIN = new URLSearchParams({ ...ALICE, client_id: 'app' }).toString()
const basic = (text: string): string => `Authorization: Basic ${Buffer.from(text).toString('base64')}`

let server: TestServer
beforeAll(async () => {
  server = await startServer({
    prepare: async (world) => {
      await addAcme(world)
      await world.addClient({ clientId: 'sandboxed', settings: { webOrigins: ['null', '*', 'https://page.test/'] } })
      await world.addRealm({ realm: 'closed', enabled: false })
      await world.addRealm({ realm: 'keyless' }, null)
    },
  })
})
afterAll(() => server?.stop())

const send = (start: string, headers: string[], body = ''): Promise<string> =>
  sendRaw(server.url, [`${start} HTTP/1.1`, ...headers, 'Connection: close', '', body].join('\r\n'))
const login = (headers: string[], body = LOGIN): Promise<string> =>
  send(`POST ${OIDC}/token`, ['Host: x', FORM, `Content-Length: ${body.length}`, ...headers], body)
const chunked = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`

describe('row 5, 12: a repeated header that may be there only once', () => {
  const credentials = 'grant_type=password&username=alice&password=x'
  test.for<[string, string[]]>([
    ['two clients', [basic(`shop:${SHOP_SECRET}`), basic('app:')]],
    ['one client twice', [basic(`shop:${SHOP_SECRET}`), basic(`shop:${SHOP_SECRET}`)]],
    ['two schemes', [basic(`shop:${SHOP_SECRET}`), 'authorization: Bearer x']],
    ['two content types', ['Content-Type: application/json']],
    ['two hosts', ['Host: y']],
  ])('%s: 400', async ([, headers]) => {
    const text = await login(headers, credentials)
    expect(statusOf(text)).toBe(400)
    expect(text).toContain('"error":"invalid_request"')
  })

  test('two tokens for userinfo: 400', async () => {
    expect(
      statusOf(await send(`GET ${OIDC}/userinfo`, ['Host: x', 'Authorization: Bearer x', 'Authorization: Bearer y'])),
    ).toBe(400)
  })
})

describe('row 10: a body that is encoded on its way', () => {
  test.for(['gzip, chunked', 'br, chunked', 'deflate,chunked'])('Transfer-Encoding: %s is refused', async (coding) => {
    const text = await send(`POST ${OIDC}/token`, ['Host: x', FORM, `Transfer-Encoding: ${coding}`], chunked(LOGIN))
    expect(statusOf(text)).toBe(415)
    expect(text).toContain('"error":"unsupported_media_type"')
  })

  test.for(['chunked', 'Chunked'])('Transfer-Encoding: %s is not', async (coding) => {
    const text = await send(`POST ${OIDC}/token`, ['Host: x', FORM, `Transfer-Encoding: ${coding}`], chunked(LOGIN))
    expect(statusOf(text)).toBe(200)
  })
})

describe('row 11: how long a Basic header may be', () => {
  test('twelve kilobytes are wrong credentials, seventeen too much of a head', async () => {
    const credentials = 'grant_type=password&username=alice&password=x'
    const long = await login([basic(`shop:${'x'.repeat(9_000)}`)], credentials)
    expect(statusOf(long)).toBe(401)
    expect(long).toMatch(/^WWW-Authenticate: Basic realm="acme"\r$/m)
    expect(statusOf(await login([basic(`shop:${'x'.repeat(13_000)}`)], credentials))).toBe(431)
  })
})

test('row 16: the query of a target without a path is no path', async () => {
  for (const target of ['http://x?/auth/realms/acme', '*?/auth/realms/acme', '?/auth/realms/acme']) {
    expect(statusOf(await send(`GET ${target}`, ['Host: x'])), target).toBeGreaterThanOrEqual(400)
  }
})

test('row 16: no target is parsed as a URL, which Node would complain of with the text of the caller', async () => {
  const warnings: Error[] = []
  const note = (warning: Error): unknown => warnings.push(warning)
  process.on('warning', note)
  for (const target of ['http://u:p@x:99999*', 'http://u:p@x:99999*?/auth', 'http://u:p@x:99999*/auth']) {
    expect(statusOf(await send(`GET ${target}`, ['Host: x'])), target).toBe(404)
  }
  process.off('warning', note)
  expect(warnings).toEqual([])
})

test('an unknown expectation is ignored', async () => {
  expect(statusOf(await login(['Expect: 200-maybe']))).toBe(200)
  expect(await login(['Expect: 100-continue'])).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/)
})

test('an offer of another protocol, and trailers, change nothing', async () => {
  expect(statusOf(await login(['Upgrade: websocket']))).toBe(200)
  const trailed = chunked(LOGIN).replace(/\r\n$/, `${basic('shop:wrong')}\r\n\r\n`)
  expect(
    statusOf(
      await send(
        `POST ${OIDC}/token`,
        ['Host: x', FORM, 'Transfer-Encoding: chunked', 'Trailer: Authorization'],
        trailed,
      ),
    ),
  ).toBe(200)
})

test('the refusal of bytes that are no HTTP has the headers of every answer', async () => {
  const text = await sendRaw(server.url, 'GET / HTTP/9.9\r\n\r\n')
  expect(statusOf(text)).toBe(400)
  for (const header of [
    'Cache-Control: no-store',
    'Referrer-Policy: no-referrer',
    'X-Content-Type-Options: nosniff',
    'X-Frame-Options: SAMEORIGIN',
  ]) {
    expect(text).toContain(`\r\n${header}\r\n`)
  }
})

test('HTTP/1.1 without a Host is refused with a JSON error, HTTP/1.0 needs none', async () => {
  const text = await send(`GET ${OIDC}/certs`, [])
  expect(statusOf(text)).toBe(400)
  expect(text).toContain('{"error":"invalid_request","error_description":')
  expect(text).toMatch(/^X-Request-Id: [0-9a-f-]{36}\r$/m)
  expect(text).toMatch(/^Cache-Control: no-store\r$/m)
  expect(await sendRaw(server.url, `GET ${OIDC}/certs HTTP/1.0\r\n\r\n`)).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
})

describe('row 54: refusals of public documents', () => {
  test.for([
    ['nowhere', 404],
    ['closed', 403],
    ['keyless', 503],
  ] as const)('realm %s: pages read the refusal as they would the answer', async ([realm, status]) => {
    await eventually(async () => {
      const answer = await server.request(`/auth/realms/${realm}`, { headers: { origin: 'https://page.test' } })
      expect(answer.status).toBe(status)
      expect(answer.headers.get('access-control-allow-origin')).toBe('*')
      expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
      expect(answer.headers.get('cache-control')).toBe('no-store')
    })
  })
})

test('row 54: a text that is no origin gets no CORS headers, though a row lists it', async () => {
  for (const origin of ['null', '*', 'https://page.test/']) {
    const answer = await server.token(
      { ...ALICE, client_id: 'sandboxed', client_secret: undefined },
      { headers: { origin } },
    )
    expect(answer.status).toBe(200)
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
  }
})

describe('callers that hang up', () => {
  test('in the middle of a body, or of an answer, cause no error in the log', async () => {
    const before = server.log.length
    const linesWith = (text: string) => server.log.slice(before).filter((line) => line.includes(text))
    const begun = openRaw(server.url)
    begun.socket.write(`POST ${OIDC}/token HTTP/1.1\r\nHost: x\r\n${FORM}\r\nContent-Length: 500\r\n\r\ngrant_type`)
    await new Promise((resolve) => setTimeout(resolve, 50))
    begun.socket.resetAndDestroy()
    for (let round = 0; round < 5; round++) {
      const asked = openRaw(server.url)
      asked.socket.write(`GET ${OIDC}/certs HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(200))
      asked.socket.once('data', () => asked.socket.resetAndDestroy())
      await asked.closed
    }
    await expect.poll(() => linesWith('the caller closed the connection').length).toBeGreaterThan(0)
    expect(await server.token(ALICE)).toMatchObject({ status: 200 })
    expect(linesWith('"level":"error"')).toEqual([])
  })
})
