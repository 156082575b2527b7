import { afterAll, beforeAll, expect, test } from 'vitest'
import { routes } from '../../../server/routes.ts'
import { openRaw, statusOf } from '../../support/raw_http.ts'
import type { RawConnection } from '../../support/raw_http.ts'
import { addAcme, ALICE, SHOP_SECRET, startServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'

const OIDC = '/auth/realms/acme/protocol/openid-connect'
const CHUNKED = 'Transfer-Encoding: chunked'
const ONE_BYTE_CHUNKS = '1\r\nx\r\n'.repeat(10_000)

let server: TestServer
let token: string
beforeAll(async () => {
  server = await startServer({ prepare: (world) => addAcme(world) })
  token = (await server.token(ALICE)).body.access_token
})
afterAll(() => server.stop())

function openEncrypt(framing: string, authorization = `Bearer ${token}`, path = 'encrypt'): RawConnection {
  const raw = openRaw(server.url)
  const head = [`POST ${OIDC}/${path} HTTP/1.1`, 'Host: x', 'Content-Type: application/json', framing]
  raw.socket.write([...head, `Authorization: ${authorization}`, '', ''].join('\r\n'))
  return raw
}

/** Until the server has answered, 200,000 chunks at most: 0.2 MB of content. */
async function sendOneByteChunks({ socket, received }: RawConnection): Promise<void> {
  for (let part = 0; part < 20 && received() === ''; part++) {
    socket.write(ONE_BYTE_CHUNKS)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

test('row 129: a body within its limit whose chunks hold too much memory is refused with 503', async () => {
  const raw = openEncrypt(CHUNKED)
  await sendOneByteChunks(raw)
  const answer = await raw.closed
  expect(statusOf(answer)).toBe(503)
  expect(answer).toContain('"error":"temporarily_unavailable"')
  expect(answer).toMatch(/^Retry-After: 1\r$/m)
  expect(answer).toMatch(/^Connection: close\r$/m)
})

test('row 129: one body may hold little more than it is long: 10,000 chunks of one byte are refused', async () => {
  const raw = openEncrypt(CHUNKED)
  raw.socket.write(ONE_BYTE_CHUNKS)
  expect(statusOf(await raw.closed)).toBe(503)
})

test('a full body in pieces of 256 bytes is read', async () => {
  const raw = openEncrypt(CHUNKED)
  const body = JSON.stringify({ field: 'none', value: 'x'.repeat(1024 * 1024 - 100) })
  for (let at = 0; at < body.length; at += 256) {
    const piece = body.slice(at, at + 256)
    raw.socket.write(`${piece.length.toString(16)}\r\n${piece}\r\n`)
  }
  raw.socket.write('0\r\n\r\n')
  await expect.poll(() => statusOf(raw.received()), { timeout: 60_000 }).toBe(403)
  raw.socket.destroy()
})

test('row 129: unfinished bodies of many callers are bounded together; short requests are served meanwhile', async () => {
  const held = Array.from({ length: 100 }, () => openEncrypt('Content-Length: 1048576'))
  for (const { socket } of held) socket.write('x'.repeat(1024 * 1024 - 100))
  // 32 MiB are about 32 of them; the others are refused.
  await expect
    .poll(() => held.filter(({ received }) => received() !== '').length, { timeout: 120_000 })
    .toBeGreaterThan(20)
  expect(new Set(held.map(({ received }) => statusOf(received())))).toEqual(new Set([NaN, 503]))
  expect(await server.token(ALICE)).toMatchObject({ status: 200 })
  for (const { socket } of held) socket.destroy()
  await Promise.all(held.map(({ closed }) => closed))

  // What they held is free again.
  const big = JSON.stringify({ field: 'none', value: 'x'.repeat(1024 * 1024 - 100) })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  await expect.poll(async () => (await server.request('encrypt', { body: big, headers })).status).not.toBe(503)
})

const JSON_ROUTES = ['encrypt', 'decrypt', 'rewrap']
const WITHOUT_A_TOKEN = ['Bearer garbage', 'Bearer ', `Basic ${btoa(`shop:${SHOP_SECRET}`)}`]

test('every route with a JSON body is known here', () => {
  const found = routes(Object.create(null)).filter(({ body }) => body === 'json')
  expect(found.map(({ name, caller }) => [name, caller])).toEqual(JSON_ROUTES.map((name) => [name, 'bearer']))
})

test.for(
  JSON_ROUTES.flatMap((path) =>
    [CHUNKED, 'Content-Length: 1048576'].flatMap((framing) =>
      WITHOUT_A_TOKEN.map((authorization) => [path, framing, authorization] as const),
    ),
  ),
)(
  '%s (%s) answers before the body, which is not read, without a good token: %s',
  async ([path, framing, authorization]) => {
    const raw = openEncrypt(framing, authorization, path)
    await expect.poll(() => statusOf(raw.received()), { timeout: 120_000 }).toBe(401)
    expect(raw.received()).toMatch(/^Connection: close\r$/m)
    // The rest of the body would be parsed in vain, and a chunk of one byte takes a microsecond.
    expect(statusOf(await raw.closed)).toBe(401)
  },
)

test('a token whose session ends while its body comes slowly is refused', async () => {
  const login = await server.token(ALICE)
  const body = JSON.stringify({ field: 'dateOfBirth', value: 'x' })
  const raw = openEncrypt(`Content-Length: ${body.length}`, `Bearer ${login.body.access_token}`)
  raw.socket.write(body.slice(0, 5))
  await new Promise((resolve) => setTimeout(resolve, 600))
  const form = { client_id: 'shop', client_secret: SHOP_SECRET, refresh_token: login.body.refresh_token }
  expect(await server.request('logout', { form })).toMatchObject({ status: 204 })
  raw.socket.write(body.slice(5))
  await expect.poll(() => statusOf(raw.received())).toBe(401)
  raw.socket.destroy()
})
