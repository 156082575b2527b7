import type { Server } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import Koa from 'koa'
import { openBody } from '../../../server/http/body.ts'
import { createListener } from '../../../server/http/listener.ts'
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

let server: Server
let url: string
beforeAll(async () => {
  const handle = app.callback()
  server = createListener((req, res) => void handle(req, res), {
    always: {},
    onOverload: () => {},
    timeouts: { headers: 300, request: 600, idle: 500, keepAlive: 500, check: 50 },
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
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
    await expect.poll(() => connections()).toBe(0)
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

function connections(): Promise<number> {
  return new Promise((resolve) => void server.getConnections((_, count) => resolve(count)))
}
