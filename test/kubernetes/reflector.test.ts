import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createApiClient } from '../../kubernetes/api_client.ts'
import { processClock as clock } from '../../kubernetes/clock.ts'
import { createReflector } from '../../kubernetes/reflector.ts'
import { listen } from '../../process/listen.ts'

const HEALTHY_MILLIS = 40

/** A reflector of a server that answers lists, and the n-th watch with `watches[n]`; the last of them stays open. */
async function reflect(watches: ((response: ServerResponse) => unknown)[]) {
  const failures: number[] = []
  let lists = 0
  const server = createServer((request, response) => {
    if (request.url?.includes('watch=true')) {
      watches.shift()?.(response)
      return
    }
    lists += 1
    response.end('{"metadata":{"resourceVersion":"1"},"items":[]}')
  })
  const port = await listen(server, { host: '127.0.0.1', port: 0, flag: '' })
  const access = { read: async () => ({ url: `http://127.0.0.1:${port}`, headers: {}, connection: {} }) }
  const client = createApiClient({ access, clock })
  const reflector = createReflector({
    what: 'things',
    path: '/api/v1/things',
    sink: { replace: async () => {}, apply: async () => {} },
    onFailure: (_, inARow) => failures.push(inARow),
    client,
    clock,
    random: () => 0.5,
    log: pino({ level: 'silent' }),
    timings: { firstRetryMillis: 4, longestRetryMillis: 20, healthyMillis: HEALTHY_MILLIS },
  })
  reflector.start()
  onTestFinished(async () => {
    await reflector.stop()
    client.close()
    server.closeAllConnections()
    server.close()
  })
  await vi.waitFor(() => expect(watches).toEqual([]), 10_000)
  return { failures, lists: () => lists }
}

const refuse = (response: ServerResponse) => response.writeHead(503).end('{}')
const open = (response: ServerResponse) => response.writeHead(200).flushHeaders()

test('a watch that was open for a while ends the row of failures, also when the API server closes it', async () => {
  const close = async (response: ServerResponse) => {
    open(response)
    await sleep(2 * HEALTHY_MILLIS)
    response.end()
  }
  const { failures, lists } = await reflect([refuse, refuse, refuse, refuse, close, refuse, open])
  expect(failures).toEqual([1, 2, 3, 4, 1])
  expect(lists()).toBe(1)
})

test('five watches in a row that cannot be opened lead to a list', async () => {
  const { failures, lists } = await reflect([refuse, refuse, refuse, refuse, refuse, open])
  expect(failures).toEqual([1, 2, 3, 4, 5])
  expect(lists()).toBe(2)
})

test('an event of an unknown type leads to a list', async () => {
  const event = { type: 'MOVED', object: { metadata: { resourceVersion: '2' } } }
  const { lists } = await reflect([(response) => response.end(`${JSON.stringify(event)}\n`), open])
  expect(lists()).toBe(2)
})
