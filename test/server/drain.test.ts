import { expect, test } from 'vitest'
import { startServer, ALICE } from '../support/server.ts'
import { testDatabase } from '../support/postgres.ts'
import { openRaw, statusOf } from '../support/raw_http.ts'

test('row 70: a server that stops answers the requests under way, closes their connections and accepts no new one', async () => {
  const database = await testDatabase()
  const server = await startServer({ database })
  const form = new URLSearchParams({ ...ALICE, client_id: 'app' }).toString()
  const connections = Array.from({ length: 8 }, () => openRaw(server.url))
  // Every request has begun and none is complete.
  const head = `POST /auth/realms/acme/protocol/openid-connect/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${form.length}\r\n\r\n`
  for (const { socket } of connections) socket.write(head + form.slice(0, 10))
  // Long enough for a busy machine to have let them all in.
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  const stopped = server.stop()
  for (const { socket } of connections) socket.write(form.slice(10))
  const answers = await Promise.all(connections.map(({ closed }) => closed))
  expect(answers.map(statusOf)).toEqual(answers.map(() => 200))
  expect(answers[0]).toMatch(/^Connection: close\r$/m)
  await stopped
  await expect(fetch(server.url)).rejects.toThrow()
  await database.drop()
})

test('row 70: a request that comes on an idle connection while the server stops is answered, and then it is closed', async () => {
  const database = await testDatabase()
  const server = await startServer({ database })
  const idle = openRaw(server.url)
  const request = 'GET /auth/realms/acme HTTP/1.1\r\nHost: x\r\n\r\n'
  idle.socket.write(request)
  await expect.poll(() => idle.received(), { timeout: 120_000 }).toMatch(/^HTTP\/1\.1 200[^]*\r\n\r\n\{/)
  const stopped = server.stop()
  idle.socket.write(request)
  const answers = (await idle.closed).split('HTTP/1.1 ').slice(1)
  expect(answers.map((answer) => answer.slice(0, 3))).toEqual(['200', '200'])
  expect(answers[1]).toMatch(/^Connection: close\r$/m)
  await stopped
  await database.drop()
})
