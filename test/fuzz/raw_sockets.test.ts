import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { below, pick } from '../support/random.ts'
import type { Random } from '../support/random.ts'
import { residentMebibytes } from '../support/server_process.ts'
import type { ServerProcess } from '../support/server_process.ts'
import { isSoak, soak } from '../support/soak.ts'
import { checkAnswer, StatusCounts } from './http/answers.ts'
import { learn } from './http/drafts.ts'
import type { Known } from './http/drafts.ts'
import { printable } from './http/request.ts'
import { openWire } from './http/wire.ts'
import type { WireConnection } from './http/wire.ts'
import { playCases } from './seed.ts'
import { randomScenario } from './sockets/scenarios.ts'
import type { Scenario } from './sockets/scenarios.ts'
import { firstKnown, startFuzzedServer } from './world.ts'

// Bytes that no HTTP library sends, and senders that no HTTP library is.

const CONNECTIONS = soak(400, 20_000)
const LANES = soak(16, 64)

type Ending = 'open' | 'half-closed' | 'reset'

describe('random connections', () => {
  let server: ServerProcess
  let known: Known
  beforeAll(async () => {
    server = await startFuzzedServer()
    known = await firstKnown(server.url)
  })
  afterAll(() => server?.stop())

  test('every complete request is answered, the rest ends, and the process works as before', async () => {
    const counts = new StatusCounts()
    let settled = 0
    await playCases(CONNECTIONS, LANES, async (random, number) => {
      if (number === Math.floor(CONNECTIONS / 5)) settled = residentMebibytes(server.part.pid).now
      const scenario = randomScenario(known, random)
      const ending = randomEnding(scenario, random)
      const connection = openWire(Number(new URL(server.url).port))
      try {
        // Answers may come before all is sent.
        await Promise.all([
          send(connection, scenario, ending, random),
          readAnswers(connection, scenario, ending, counts),
        ])
      } catch (error) {
        const what = `${scenario.name}, then ${ending}: ${String(error)}`
        throw new Error(`${what}\n${printable({ ...scenario, method: '', isValid: true })}`, { cause: error })
      } finally {
        connection.socket.destroy()
      }
    })

    const resident = residentMebibytes(server.part.pid).now
    console.log(`${counts.text()}; resident ${settled.toFixed(0)} MiB after a fifth, ${resident.toFixed(0)} at the end`)
    expect(server.part.running()).toBe(true)
    expect(server.errors()).toEqual([])
    await firstKnown(server.url)
    if (isSoak) expect(resident).toBeLessThan(settled * 1.5)
  })

  /** The listener's time limits end a request that waits for more, half a minute later: too long for the short run. */
  function randomEnding({ rest }: Scenario, random: Random): Ending {
    const chance = random()
    if (chance < 0.1) return 'reset'
    if (rest === 'may wait') return isSoak && chance < 0.2 ? 'open' : 'half-closed'
    return chance < 0.3 ? 'half-closed' : 'open'
  }

  /** Sends the bytes in pieces, with pauses. */
  async function send({ socket }: WireConnection, { bytes }: Scenario, ending: Ending, random: Random): Promise<void> {
    const pieces = pick([1, 1, 2, 10, 200], random)
    const pauseMillis = pick([0, 0, 1, 10, isSoak && random() < 0.1 ? 1_000 : 1], random)
    for (let at = 0; at < bytes.length;) {
      const end = pieces === 1 ? bytes.length : at + 1 + below((2 * bytes.length) / pieces, random)
      if (!socket.writable) return
      socket.write(bytes.subarray(at, end))
      at = end
      if (pieces > 1) await sleep(pauseMillis)
    }
    if (ending === 'half-closed') socket.end()
    if (ending === 'reset') socket.resetAndDestroy()
  }

  async function readAnswers(
    { answer }: WireConnection,
    { answered, rest }: Scenario,
    ending: Ending,
    counts: StatusCounts,
  ): Promise<void> {
    for (const [at, draft] of answered.entries()) {
      const received = await answer(draft.method)
      // Node does not answer a caller that ends its side first.
      if (!received && ending !== 'open') return
      if (!received) throw new Error(`the connection was closed after ${at} of ${answered.length} answers`)
      checkAnswer(received)
      counts.add(received.status)
      if (received.status < 300 && received.body !== '') learn(known, draft, received.body)
      if (received.headers.get('connection') === 'close') return
    }
    if (rest === 'none') return
    const received = await answer('GET')
    if (received) checkAnswer(received)
    counts.add(received?.status ?? 'closed')
  }
})
