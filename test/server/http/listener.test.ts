import type { Server } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import Koa from 'koa'
import { openBody } from '../../../server/http/body.ts'
import { createListener } from '../../../server/http/listener.ts'
import type { Timeouts } from '../../../server/http/listener.ts'
import { openRaw, sendRaw, statusOf } from '../../support/raw_http.ts'

/** Bodies are read as in an endpoint; `/much` answers more than the buffers of a connection hold. */
const app = new Koa()
app.on('error', () => {})
app.use(async (ctx) => {
  if (ctx.path === '/much') ctx.body = Buffer.alloc(64 * 1024 * 1024)
  else {
    const readBody = await openBody(ctx, 'json')
    ctx.body = (await readBody()).json
  }
})

const servers: Server[] = []
/** Resolves with the server and its URL. */
async function start(timeouts: Timeouts): Promise<[Server, string]> {
  const handle = app.callback()
  const server = createListener((req, res) => void handle(req, res), { always: {}, onOverload: () => {}, timeouts })
  servers.push(server)
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return [server, `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`]
}

let server: Server
let url: string
beforeAll(async () => {
  ;[server, url] = await start({ headers: 300, request: 600, idle: 500, keepAlive: 500, check: 50, linger: 50 })
})
afterAll(() => {
  for (const each of servers) {
    each.closeAllConnections()
    each.close()
  }
})

describe('row 68: slow callers', () => {
  test('two hundred that send their head slowly, while others are served', async () => {
    const slow = Array.from({ length: 200 }, () => openRaw(url))
    const trickle = setInterval(() => {
      for (const { socket } of slow) if (socket.writable) socket.write('X')
    }, 100)
    for (const { socket } of slow) socket.write('GET / HTTP/1.1\r\nX')
    expect(
      await (
        await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: 'served' })
      ).text(),
    ).toBe('served')
    const answers = await Promise.all(slow.map(({ closed }) => closed))
    clearInterval(trickle)
    expect(new Set(answers.map(statusOf))).toEqual(new Set([408]))
    expect(answers[0]).toContain('{"error":"invalid_request","error_description":"The request took too long"}')
  })

  test('that send their body slowly', async () => {
    const { socket, closed } = openRaw(url)
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n')
    const trickle = setInterval(() => socket.writable && socket.write('x'), 100)
    expect(statusOf(await closed)).toBe(408)
    clearInterval(trickle)
  })

  test('that do not read the answer', async () => {
    const { socket, closed } = openRaw(url)
    socket.pause()
    socket.write('GET /much HTTP/1.1\r\nHost: x\r\n\r\n')
    await expect.poll(() => connections(), { timeout: 60_000 }).toBe(1)
    await expect.poll(() => connections(), { timeout: 60_000 }).toBe(0)
    socket.destroy()
    await closed
  })

  test('that send nothing', async () => {
    expect(statusOf(await sendRaw(url, ''))).toBe(408)
  })

  test('that leave the connection idle after a request', async () => {
    const text = await sendRaw(
      url,
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\nok',
    )
    expect(text).toMatch(/\r\n\r\nok$/)
  })
})

describe('row 132: callers that send on after bytes that are no HTTP', () => {
  const GOOD = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\nok'
  const minute = 60_000

  test('get to read the answers, because the connection is not reset', async () => {
    const [, url] = await start({
      headers: minute,
      request: minute,
      idle: minute,
      keepAlive: minute,
      check: 50,
      linger: minute,
    })
    const { socket, received } = openRaw(url)
    // The answers wait in the system's buffer.
    socket.pause()
    socket.write(`${GOOD}x`)
    for (let part = 0; part < 20; part++) {
      await new Promise((resolve) => setTimeout(resolve, 10))
      socket.write('more')
    }
    socket.resume()
    await expect
      .poll(() => [...received().matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status))
      .toEqual(['200', '400'])
    socket.destroy()
  })

  test('are cut off after a while', async () => {
    const { socket, closed } = openRaw(url)
    const trickle = setInterval(() => socket.writable && socket.write('x'), 10)
    // Without reading, it does not notice that the server has ended its side.
    socket.pause()
    await closed
    clearInterval(trickle)
  })
})

function connections(): Promise<number> {
  return new Promise((resolve) => void server.getConnections((_, count) => resolve(count)))
}
