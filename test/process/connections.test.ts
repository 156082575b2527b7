import { createServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import { connect } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { limitConnections } from '../../process/connections.ts'
import { openRaw } from '../support/raw_http.ts'
import type { RawConnection } from '../support/raw_http.ts'

let server: Server
let url: string
let overloads: string[]
const opened: RawConnection[] = []

afterEach(() => {
  for (const { socket } of opened.splice(0)) socket.destroy()
  server.closeAllConnections()
  server.close()
})

async function serve(listener: RequestListener, limits: { connections: number; unanswered: number }): Promise<void> {
  server = createServer()
  overloads = []
  limitConnections(server, limits, listener, (what) => void overloads.push(what))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
}

function open(bytes = ''): RawConnection {
  const raw = openRaw(url)
  opened.push(raw)
  raw.socket.write(bytes)
  return raw
}

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
const HALF_A_BODY = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf'
const answerAll: RequestListener = (_, response) => response.end('ok')

const isOpen = ({ socket }: RawConnection): boolean => !socket.closed
const isAnswered = ({ received }: RawConnection): boolean => received().endsWith('ok')

test('one connection too many closes the one that has waited longest for its caller', async () => {
  await serve(answerAll, { connections: 3, unanswered: 4 })
  const first = open(GET)
  await vi.waitFor(() => expect(isAnswered(first)).toBe(true))
  const second = open(GET)
  await vi.waitFor(() => expect(isAnswered(second)).toBe(true))
  const third = open(HALF_A_BODY)
  await vi.waitFor(async () => expect(await connections()).toBe(3))
  // The first one is used again, so the second has waited longest.
  first.socket.write(GET)
  await vi.waitFor(() => expect(first.received().match(/ok/g)).toHaveLength(2))

  const fourth = open(GET)
  await vi.waitFor(() => expect(isAnswered(fourth)).toBe(true))
  await second.closed
  expect([first, third, fourth].every(isOpen)).toBe(true)
  expect(overloads).toEqual(['connections'])
})

test('connections that wait for the server stay, and a further one is closed', async () => {
  const answers: (() => void)[] = []
  await serve((_, response) => void answers.push(() => response.end('ok')), { connections: 2, unanswered: 4 })
  const busy = [open(GET), open(GET)]
  await vi.waitFor(() => expect(answers).toHaveLength(2))
  await open(GET).closed
  expect(overloads).toEqual(['connections'])
  for (const answer of answers) answer()
  await vi.waitFor(() => expect(busy.every(isAnswered)).toBe(true))
})

test('a thousand callers that never finish a request do not keep others out', async () => {
  await serve(answerAll, { connections: 50, unanswered: 4 })
  for (let caller = 0; caller < 1_000; caller++) open(HALF_A_BODY)
  for (let request = 0; request < 20; request++) {
    expect(await (await fetch(url, { headers: { connection: 'close' } })).text()).toBe('ok')
  }
  await vi.waitFor(async () => expect(await connections()).toBeLessThanOrEqual(50))
})

test('a connection with too many unanswered requests is closed, and no further request is served', async () => {
  let served = 0
  let parsed = 0
  await serve(() => void (served += 1), { connections: 10, unanswered: 4 })
  server.on('request', () => (parsed += 1))
  await open(GET.repeat(3_000)).closed
  expect({ served, parsed }).toEqual({ served: 4, parsed: 5 })
  expect(overloads).toEqual(['unanswered_requests'])
  const next = open(GET.repeat(4))
  await vi.waitFor(() => expect(served).toBe(8))
  expect(isOpen(next)).toBe(true)
})

test('requests that are sent ahead within the bound are answered in order', async () => {
  let count = 0
  await serve((_, response) => void setTimeout(() => response.end(`answer ${++count}.`), 1), {
    connections: 10,
    unanswered: 4,
  })
  const caller = open(GET.repeat(4))
  await vi.waitFor(() => expect(caller.received()).toContain('answer 4.'))
  expect(caller.received().match(/answer \d/g)).toEqual(['answer 1', 'answer 2', 'answer 3', 'answer 4'])
})

test('a connection that the caller resets leaves nothing behind', async () => {
  await serve(answerAll, { connections: 2, unanswered: 4 })
  for (let round = 0; round < 20; round++) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    await new Promise((resolve) => socket.once('connect', resolve))
    socket.resetAndDestroy()
  }
  const last = [open(GET), open(GET)]
  await vi.waitFor(() => expect(last.every(isAnswered)).toBe(true))
  expect(last.every(isOpen)).toBe(true)
})

function connections(): Promise<number> {
  return new Promise((resolve) => void server.getConnections((_, count) => resolve(count)))
}
