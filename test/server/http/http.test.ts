import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addAcme, ALICE, startServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'
import { openRaw, sendRaw, statusOf } from '../../support/raw_http.ts'
import { claimsOf } from '../../support/tokens.ts'

const TOKEN = '/auth/realms/acme/protocol/openid-connect/token'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const LOGIN = new URLSearchParams({ ...ALICE, client_id: 'app' }).toString()

let server: TestServer
beforeAll(async () => {
  server = await startServer({
    prepare: async (world) => {
      await addAcme(world, { client: { settings: { webOrigins: ['https://shop.test', 'http://localhost:3000'] } } })
      await world.addRealm({ realm: 'closed', enabled: false })
    },
  })
})
afterAll(() => server.stop())

describe('row 1: other methods', () => {
  test.for<[string, string, string]>([
    ['GET', 'token', 'POST, OPTIONS'],
    ['HEAD', 'token', 'POST, OPTIONS'],
    ['PUT', 'token', 'POST, OPTIONS'],
    ['DELETE', 'logout', 'POST, OPTIONS'],
    ['PATCH', 'userinfo', 'GET, POST, HEAD, OPTIONS'],
    ['POST', 'certs', 'GET, HEAD, OPTIONS'],
    ['POST', '/auth/realms/acme', 'GET, HEAD, OPTIONS'],
    ['PUT', '/auth/realms/acme/.well-known/openid-configuration', 'GET, HEAD, OPTIONS'],
  ])('%s on %s', async ([method, path, allow]) => {
    const answer = await server.request(path, { method })
    expect(answer.status).toBe(405)
    expect(answer.headers.get('allow')).toBe(allow)
    if (method !== 'HEAD') expect(answer.body.error).toBe('method_not_allowed')
  })

  test('TRACE', async () => {
    const answer = await sendRaw(server.url, `TRACE ${TOKEN} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    expect(statusOf(answer)).toBe(405)
    expect(answer).toMatch(/^Allow: POST, OPTIONS\r$/m)
  })

  test('HEAD where there is GET has its headers and no content', async () => {
    const answer = await server.request('certs', { method: 'HEAD' })
    expect(answer).toMatchObject({ status: 200, text: '' })
    expect(answer.headers.get('cache-control')).toBe('public, max-age=300')
  })
})

describe('row 2, 10: media types, charsets and codings', () => {
  test.for<[string, Record<string, string>]>([
    ['JSON', { 'content-type': 'application/json' }],
    ['multipart', { 'content-type': 'multipart/form-data; boundary=x' }],
    ['text', { 'content-type': 'text/plain' }],
    ['no content type', { 'content-type': '' }],
    ['charset utf-7', { 'content-type': `${FORM['content-type']}; charset=utf-7` }],
    ['charset latin1', { 'content-type': `${FORM['content-type']}; charset=ISO-8859-1` }],
    ['gzip', { ...FORM, 'content-encoding': 'gzip' }],
    ['br', { ...FORM, 'content-encoding': 'br' }],
    ['identity and gzip', { ...FORM, 'content-encoding': 'identity, gzip' }],
  ])('%s is refused', async ([, headers]) => {
    const answer = await server.request('token', { method: 'POST', body: LOGIN, headers })
    expect(answer).toMatchObject({ status: 415, body: { error: 'unsupported_media_type' } })
  })

  test('no content type header at all is refused', async () => {
    const request = `POST ${TOKEN} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${LOGIN.length}\r\n\r\n${LOGIN}`
    expect(statusOf(await sendRaw(server.url, request))).toBe(415)
  })

  test.for(['identity', 'Identity'])('Content-Encoding: %s is accepted', async (encoding) => {
    const headers = { ...FORM, 'content-encoding': encoding }
    expect(await server.request('token', { body: LOGIN, headers })).toMatchObject({ status: 200 })
  })

  test.for(['charset=utf-8', 'charset=UTF-8', 'charset="Utf-8"', 'charset=UTF8', 'foo=bar'])(
    '%s is accepted',
    async (parameter) => {
      const headers = { 'content-type': `Application/X-WWW-Form-Urlencoded; ${parameter}` }
      expect(await server.request('token', { body: LOGIN, headers })).toMatchObject({ status: 200 })
    },
  )

  test('bytes that are no UTF-8 are refused', async () => {
    const body = Buffer.from('grant_type=password&username=\xff\xfe', 'latin1')
    expect(await server.request('token', { body, headers: FORM })).toMatchObject({
      status: 400,
      body: { error: 'invalid_request' },
    })
  })
})

describe('forms', () => {
  const post = (body: string) => server.request('token', { body, headers: FORM })
  const duplicated = { status: 400, body: { error: 'invalid_request', error_description: 'duplicated parameter' } }

  test('row 3: an empty body', async () => {
    const answer = { status: 400, body: { error_description: 'Missing form parameter: grant_type' } }
    expect(await post('')).toMatchObject(answer)
    expect(await server.request('token', { method: 'POST' })).toMatchObject(answer)
  })

  test.for<[string, string]>([
    ['grant_type', 'grant_type=password&grant_type=client_credentials'],
    ['the same value', `${LOGIN}&username=alice`],
    ['an empty one', `${LOGIN}&scope=`],
    ['an unknown one', `${LOGIN}&x=1&x=2`],
    ['one that is spelled in two ways', `${LOGIN}&user%6eame=alice`],
    ['__proto__', `${LOGIN}&__proto__=1&__proto__=2`],
  ])('row 5: given twice: %s', async ([, body]) => {
    expect(await post(body)).toMatchObject(duplicated)
  })

  test.for([
    'username[]=a',
    'username[x]=a',
    'password[length]=1',
    '__proto__[admin]=1',
    '__proto__=1',
    'constructor.prototype=1',
    'constructor[prototype][admin]=1',
    'hasOwnProperty=1',
  ])('row 6: %s is one more unknown name', async (field) => {
    expect(await post(`${LOGIN}&${field}`)).toMatchObject({ status: 200 })
    expect(Object.keys(Object.prototype)).toEqual([])
    expect({}).not.toHaveProperty('admin')
  })

  test('row 6: a nested name stands for nothing', async () => {
    expect(await post(LOGIN.replace('username=', 'username[]='))).toMatchObject({
      status: 400,
      body: { error_description: 'Missing parameter: username' },
    })
  })

  test('row 8: thousands of parameters', async () => {
    const body = `${LOGIN}&${Array.from({ length: 5_000 }, (_, at) => `p${at}=1`).join('&')}`
    expect(body.length).toBeLessThan(64 * 1024)
    expect(await post(body)).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  })

  test('a hundred parameters are accepted, one more is refused', async () => {
    const fill = (count: number) => Array.from({ length: count }, (_, at) => `&p${at}=1`).join('')
    const given = LOGIN.split('&').length
    expect(await post(LOGIN + fill(100 - given))).toMatchObject({ status: 200 })
    expect(await post(LOGIN + fill(101 - given))).toMatchObject({ status: 400 })
  })

  test.for<[string, string]>([
    ['an over-long value', `${LOGIN}&x=${'y'.repeat(33_000)}`],
    ['an over-long name', `${LOGIN}&${'y'.repeat(300)}=1`],
    ['a broken escape', `${LOGIN}&x=%zz`],
    ['half an escape', `${LOGIN}&x=%`],
    ['NUL in a name', `${LOGIN}&x%00=1`],
    ['a surrogate', `${LOGIN}&x=%ed%a0%80`],
  ])('%s is refused', async ([, body]) => {
    expect(await post(body)).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  })
})

describe('row 7, 8: the size of a body', () => {
  const tooLarge = { status: 413, body: { error: 'request_too_large' } }

  test('one byte over the limit, and one at it', async () => {
    const at = `${LOGIN}&${Array.from({ length: 3 }, (_, n) => `pad${n}=${'x'.repeat(20_000)}`).join('&')}&pad=`
    const full = at + 'x'.repeat(64 * 1024 - at.length)
    expect(await server.request('token', { body: full, headers: FORM })).toMatchObject({ status: 200 })
    expect(await server.request('token', { body: `${full}x`, headers: FORM })).toMatchObject(tooLarge)
  })

  test('ten megabytes', async () => {
    const answer = await server.request('token', { body: 'x'.repeat(10 * 1024 * 1024), headers: FORM })
    expect(answer).toMatchObject(tooLarge)
  })

  test.for(['17000000', '4294967296', '9007199254740993'])(
    'a Content-Length of %s is refused before a byte of the body',
    async (length) => {
      const { socket, closed } = openRaw(server.url)
      socket.write(`POST ${TOKEN} HTTP/1.1\r\nHost: x\r\n${formHeaders(`Content-Length: ${length}`)}\r\n`)
      expect(statusOf(await closed)).toBe(413)
    },
  )

  test('chunks without end', async () => {
    const { socket, closed } = openRaw(server.url)
    socket.write(`POST ${TOKEN} HTTP/1.1\r\nHost: x\r\n${formHeaders('Transfer-Encoding: chunked')}\r\n`)
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`
    const feed = setInterval(() => socket.writable && socket.write(chunk), 1)
    expect(statusOf(await closed)).toBe(413)
    clearInterval(feed)
  })

  test('a Content-Length that promises too much', async () => {
    const { socket, closed } = openRaw(server.url)
    socket.end(`POST ${TOKEN} HTTP/1.1\r\nHost: x\r\n${formHeaders('Content-Length: 5000')}\r\n${LOGIN}`)
    expect(statusOf(await closed)).toBe(400)
    expect(await server.token(ALICE)).toMatchObject({ status: 200 })
  })

  test('a Content-Length that promises too little', async () => {
    const request = `POST ${TOKEN} HTTP/1.1\r\nHost: x\r\n${formHeaders('Content-Length: 10')}\r\n${LOGIN}`
    expect(statusOf(await sendRaw(server.url, request))).toBe(400)
  })

  test.for<[string, string]>([
    ['Content-Length and Transfer-Encoding', 'Content-Length: 10\r\nTransfer-Encoding: chunked'],
    ['two lengths', 'Content-Length: 10\r\nContent-Length: 11'],
    ['a negative length', 'Content-Length: -1'],
    ['a length that is none', 'Content-Length: 1e3'],
    ['an unknown transfer coding', 'Transfer-Encoding: sideways'],
  ])('%s', async ([, header]) => {
    const text = await sendRaw(server.url, `POST ${TOKEN} HTTP/1.1\r\nHost: x\r\n${formHeaders(header)}\r\n0\r\n\r\n`)
    expect(statusOf(text)).toBe(400)
    expect(text).toContain('"error":"invalid_request"')
    expect(text).toContain('Cache-Control: no-store')
    expect(text).toMatch(/^X-Request-Id: [0-9a-f-]{36}\r$/m)
  })

  function formHeaders(more: string): string {
    return `Content-Type: ${FORM['content-type']}\r\n${more}\r\n`
  }
})

describe('row 69: heads that are too large or no HTTP', () => {
  const head = (lines: string) => `GET /auth/realms/acme HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${lines}\r\n`
  test.for<[string, string, number]>([
    ['20 KB of a header', head(`X: ${'y'.repeat(20_000)}\r\n`), 431],
    ['2,000 headers', head('a:b\r\n'.repeat(2_000)), 431],
    ['a header with a bare CR', head('X: a\rb\r\n'), 400],
    ['lines that end in LF', head('').replaceAll('\r\n', '\n'), 400],
    ['a header without a name', head(': x\r\n'), 400],
    ['a folded header', head('X: a\r\n b\r\n'), 400],
    ['no Host', 'GET /auth/realms/acme HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['another protocol', 'SSH-2.0-OpenSSH_9.9\r\n', 400],
  ])('%s', async ([, bytes, status]) => {
    expect(statusOf(await sendRaw(server.url, bytes))).toBe(status)
  })

  test('pipelined requests are answered in their order', async () => {
    const one = 'GET /auth/realms/acme HTTP/1.1\r\nHost: x\r\n'
    const text = await sendRaw(
      server.url,
      `${one}\r\n${one.replace('acme', 'none')}\r\n${one}Connection: close\r\n\r\n`,
    )
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 404', 'HTTP/1.1 200'])
  })

  test('row 132: bytes that are no HTTP, sent ahead, do not replace the answer to the request before them', async () => {
    const login = `POST ${TOKEN} HTTP/1.1\r\nHost: x\r\nContent-Type: ${FORM['content-type']}\r\nContent-Length: ${LOGIN.length}\r\n\r\n${LOGIN}`
    const text = await sendRaw(server.url, `${login}GARBAGE\r\n\r\n`)
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400'])
    expect(text).toContain('"access_token"')
  })

  test('row 132: three thousand requests sent ahead on one connection end it; others are served', async () => {
    const one = 'GET /auth/realms/acme HTTP/1.1\r\nHost: x\r\n\r\n'
    const flood = Array.from({ length: 20 }, () => sendRaw(server.url, one.repeat(3_000)))
    expect(await server.token(ALICE)).toMatchObject({ status: 200 })
    for (const text of await Promise.all(flood)) {
      expect(text.match(/HTTP\/1\.1 \d+/g)?.length ?? 0).toBeLessThanOrEqual(16)
    }
  })
})

describe('row 16: unknown realms', () => {
  test.for([
    'nothing-here',
    '..',
    '%2e%2e',
    '%00',
    'acm%65',
    'ACME',
    'acme ',
    'acme%20',
    '-acme',
    'x'.repeat(10_000),
    '%F0%9F%94%91',
    "acme'--",
    ':realm',
    'acme#',
    '',
  ])('%s', async (realm) => {
    const request = `POST ${TOKEN.replace('acme', realm)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`
    const text = await sendRaw(server.url, request)
    if (/\s/.test(realm)) {
      expect(statusOf(text)).toBe(400)
      return
    }
    expect(statusOf(text)).toBe(404)
    expect(text).toContain('{"error":"realm_not_found","error_description":"Realm does not exist"}')
  })

  test('leave no label in the metrics and no error in the log', async () => {
    const metrics = await (await fetch(`${server.healthUrl}/metrics`)).text()
    expect(metrics).toMatch(/realmkeeper_http_requests_total\{route="token",method="POST",status="404"\} \d+/)
    expect(metrics).not.toMatch(/nothing-here|ACME|%2e/)
    expect(server.log.filter((line) => line.includes('"level":"error"'))).toEqual([])
  })

  test.for([
    '/',
    '/auth',
    '/auth/realms/acme/',
    '/auth/realms/acme/protocol/openid-connect/token/',
    '/auth/realms/acme/protocol/openid-connect/Token',
    '/AUTH/realms/acme/protocol/openid-connect/token',
    '/auth/auth/realms/acme',
    '/auth//realms/acme',
    '/realms/acme/.well-known/openid-configuration',
    '/.well-known/oauth-authorization-server/realms/acme',
  ])('an unknown path: %s', async (path) => {
    const answer = await server.request(path)
    expect(answer).toMatchObject({ status: 404, body: { error: 'not_found' } })
  })
})

test('row 17: a realm that is disabled', async () => {
  for (const path of ['token', 'certs']) {
    const answer = await server.request(
      `/auth/realms/closed/protocol/openid-connect/${path}`,
      path === 'token' ? { form: ALICE } : {},
    )
    expect(answer).toMatchObject({
      status: 403,
      body: { error: 'access_denied', error_description: 'Realm not enabled' },
    })
  }
})

describe('row 53: the Host header and forwarded headers', () => {
  test.for<[string, string, string]>([
    ['an odd Host', '/', 'Host: evil:x@good'],
    [
      'X-Forwarded-Host',
      '/',
      'Host: x\r\nX-Forwarded-Host: evil.test\r\nX-Forwarded-Proto: https\r\nForwarded: host=evil.test',
    ],
    ['an absolute target', 'http://evil.test/', 'Host: x'],
  ])('%s changes no issuer', async ([, start, headers]) => {
    const request = `POST ${start}${TOKEN.slice(1)} HTTP/1.1\r\n${headers}\r\nConnection: close\r\nContent-Type: ${FORM['content-type']}\r\nContent-Length: ${LOGIN.length}\r\n\r\n${LOGIN}`
    const text = await sendRaw(server.url, request)
    expect(statusOf(text)).toBe(200)
    const { access_token: token } = JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4))
    expect(claimsOf(token).iss).toBe(`${server.url}/auth/realms/acme`)
  })
})

describe('row 54: pages of other origins', () => {
  const withOrigin = (origin: string, form: Record<string, string> = ALICE) =>
    server.token(form, { headers: { Origin: origin } })

  test('read answers and errors where the client lists the origin', async () => {
    for (const form of [ALICE, { ...ALICE, password: 'wrong' }]) {
      const { headers } = await withOrigin('https://shop.test', form)
      expect(headers.get('access-control-allow-origin')).toBe('https://shop.test')
      expect(headers.get('access-control-allow-credentials')).toBe('true')
      expect(headers.get('vary')).toBe('Origin')
    }
  })

  test.for([
    'null',
    '*',
    'https://shop.test.evil.test',
    'https://evil-shop.test',
    'https://a.shop.test',
    'http://shop.test',
    'https://shop.test:8443',
    'https://SHOP.test',
    'http://localhost:30001',
  ])('get an ordinary answer where it does not: %s', async (origin) => {
    const { status, headers } = await withOrigin(origin)
    expect(status).toBe(200)
    expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
  })

  test('get no headers for errors before the client is authenticated', async () => {
    const { status, headers } = await withOrigin('https://shop.test', { ...ALICE, client_secret: 'wrong' })
    expect(status).toBe(401)
    expect(headers.get('access-control-allow-origin')).toBeNull()
  })

  test('a preflight is answered for any origin, which is named', async () => {
    const headers = { Origin: 'https://any.test', 'Access-Control-Request-Method': 'POST' }
    const answer = await server.request('token', { method: 'OPTIONS', headers })
    expect(answer).toMatchObject({ status: 204, text: '' })
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://any.test')
    expect(answer.headers.get('access-control-allow-credentials')).toBe('true')
    expect(answer.headers.get('access-control-allow-methods')).toContain('POST')
    expect(answer.headers.get('access-control-allow-headers')).toContain('Authorization')
  })

  test('a preflight without a valid origin names none', async () => {
    const answer = await server.request('token', { method: 'OPTIONS', headers: { Origin: 'null' } })
    expect(answer.status).toBe(204)
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
  })

  test('any origin may read public documents, without credentials', async () => {
    for (const method of ['GET', 'OPTIONS']) {
      const { headers } = await server.request('certs', { method, headers: { Origin: 'https://any.test' } })
      expect(headers.get('access-control-allow-origin')).toBe('*')
      expect(headers.get('access-control-allow-credentials')).toBeNull()
    }
  })
})
