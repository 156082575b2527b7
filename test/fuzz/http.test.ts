import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { residentMebibytes } from '../support/server_process.ts'
import type { ServerProcess } from '../support/server_process.ts'
import { isSoak, soak } from '../support/soak.ts'
import { checkAnswer, StatusCounts } from './http/answers.ts'
import { draftFor, learn, randomRoute, routeName, ROUTES } from './http/drafts.ts'
import type { Known } from './http/drafts.ts'
import { mutate } from './http/mutations.ts'
import { encode, printable } from './http/request.ts'
import { openWire } from './http/wire.ts'
import type { WireAnswer, WireConnection, WireRequest } from './http/wire.ts'
import { playCases } from './seed.ts'
import { firstKnown, startFuzzedServer } from './world.ts'

// Requests to every route of the table over HTTP. Each begins as a correct one; most are then changed in a few ways.

const REQUESTS = soak(4_000, 200_000)
const LANES = 8

describe('random requests', () => {
  let server: ServerProcess
  let known: Known
  beforeAll(async () => {
    server = await startFuzzedServer()
    known = await firstKnown(server.url)
  })
  afterAll(() => server?.stop())

  const open = (): WireConnection => openWire(Number(new URL(server.url).port))

  test('each is answered, none with a status 5xx other than 503, and the process works as before', async () => {
    const kept: (WireConnection | undefined)[] = []
    const statuses = new StatusCounts()
    const succeeded = new Set<string>()
    let settled = 0

    await playCases(REQUESTS, LANES, async (random, number, lane) => {
      if (number === Math.floor(REQUESTS / 5)) settled = residentMebibytes(server.part.pid).now
      const route = randomRoute(random)
      const draft = draftFor(route, known, random)
      if (random() > 0.25) mutate(draft, known, random)
      const request = encode(draft)
      const connection = request.isValid ? (kept[lane] ??= open()) : open()
      try {
        const answer = await exchange(connection, request)
        if (!request.isValid || answer?.headers.get('connection') === 'close') connection.socket.destroy()
        if (connection.socket.destroyed && connection === kept[lane]) kept[lane] = undefined
        statuses.add(answer?.status ?? 'closed')
        if (!answer || answer.status >= 300) return
        succeeded.add(routeName(route))
        if (answer.body !== '') learn(known, draft, answer.body)
      } catch (error) {
        connection.socket.destroy()
        throw new Error(`${String(error)}\n${printable(request)}`, { cause: error })
      }
    })
    for (const connection of kept) connection?.socket.destroy()

    const resident = residentMebibytes(server.part.pid).now
    console.log(
      `statuses: ${statuses.text()}; resident ${settled.toFixed(0)} MiB after a fifth, ${resident.toFixed(0)} at the end`,
    )
    expect(server.part.running()).toBe(true)
    expect(server.errors()).toEqual([])
    await firstKnown(server.url)
    // Each route was also passed through to its end.
    expect([...succeeded].toSorted()).toEqual(ROUTES.toSorted())
    if (isSoak) expect(resident).toBeLessThan(settled * 1.5)
  })

  /** Undefined when the connection was closed instead, which no valid request suffers. */
  async function exchange(
    { socket, answer }: WireConnection,
    { bytes, method, isValid }: WireRequest,
  ): Promise<WireAnswer | undefined> {
    if (isValid) socket.write(bytes)
    // Half-closed, because the server may wait for more.
    else socket.end(bytes)
    const received = await answer(method)
    if (received) checkAnswer(received)
    else if (isValid) throw new Error('the connection was closed without an answer')
    return received
  }
})
