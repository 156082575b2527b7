import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createApiClient } from '../../kubernetes/api_client.ts'
import { processClock as clock } from '../../kubernetes/clock.ts'
import { createReflector } from '../../kubernetes/reflector.ts'
import type { ListState } from '../../kubernetes/reflector.ts'
import { listen } from '../../process/listen.ts'

const HEALTHY_MILLIS = 40

interface ReflectOptions {
  /** The resource versions of the answers to lists, in their order; the last one stays. */
  versions?: string[]
  fieldSelector?: string
}

/** A reflector of a server that answers lists, and the n-th watch with `watches[n]`; the last of them stays open. */
async function reflect(watches: ((response: ServerResponse) => unknown)[], options: ReflectOptions = {}) {
  const { versions = ['1'], ...more } = options
  const failures: number[] = []
  const replaced: ListState[] = []
  let lists = 0
  let restores = 0
  const server = createServer((request, response) => {
    if (request.url?.includes('watch=true')) {
      watches.shift()?.(response)
      return
    }
    // A list of one object only compares resource versions.
    if (!/limit=1(&|$)/.test(request.url ?? '')) lists += 1
    const resourceVersion = versions.length > 1 ? versions.shift() : versions[0]
    response.end(JSON.stringify({ metadata: { resourceVersion }, items: [] }))
  })
  const port = await listen(server, { host: '127.0.0.1', port: 0, flag: '' })
  const access = { read: async () => ({ url: `http://127.0.0.1:${port}`, headers: {}, connection: {} }) }
  const client = createApiClient({ access, clock })
  const reflector = createReflector({
    what: 'things',
    path: '/api/v1/things',
    sink: { replace: async (_, list) => void replaced.push(list), apply: async () => {} },
    onRestored: () => void restores++,
    ...more,
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
  return { failures, replaced, lists: () => lists, restores: () => restores }
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

const end = (response: ServerResponse) => {
  const event = { type: 'MODIFIED', object: { metadata: { resourceVersion: '9' } } }
  response.end(`${JSON.stringify(event)}\n`)
}

test('a watch does not continue at a resource version that a restored API server has not reached', async () => {
  const { replaced, restores } = await reflect([end, open], { versions: ['5', '3'] })
  expect(replaced).toEqual([
    { resourceVersion: '5', isRestored: false },
    { resourceVersion: '3', isRestored: true },
  ])
  expect(restores()).toBe(1)
})

test('a restore is recognized also after failures that led to a list', async () => {
  const { replaced, restores } = await reflect([end, refuse, refuse, refuse, refuse, refuse, open], {
    // Above the first list, and below the event that followed it.
    versions: ['5', '9', '9', '9', '9', '9', '7'],
  })
  await vi.waitFor(() => expect(replaced).toHaveLength(2))
  expect(replaced[1]).toEqual({ resourceVersion: '7', isRestored: true })
  expect(restores()).toBe(1)
})

test('an event that is older than the list leads to a list', async () => {
  const older = (response: ServerResponse) => {
    const event = { type: 'MODIFIED', object: { metadata: { resourceVersion: '3' } } }
    response.write(`${JSON.stringify(event)}\n`)
  }
  const { lists } = await reflect([older, open], { versions: ['5'] })
  expect(lists()).toBe(2)
})

test('a watch continues where it ended while the API server is not behind', async () => {
  const { lists, restores } = await reflect([end, end, open], { versions: ['5', '9'] })
  expect([lists(), restores()]).toEqual([1, 0])
})

test('a watch of one name lists again: a restored API server may have passed its resource version', async () => {
  const { replaced, restores } = await reflect([end, open], {
    versions: ['5', '100'],
    fieldSelector: 'metadata.name=one',
  })
  expect(replaced.map(({ resourceVersion }) => resourceVersion)).toEqual(['5', '100'])
  expect(restores()).toBe(0)
})
