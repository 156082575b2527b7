import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from './cluster_world.ts'
import { proxiedWorld, WATCHES } from './proxied_world.ts'
import type { ProxiedWorld } from './proxied_world.ts'

const STALL_SECONDS = 15

describe('watches that go silent', () => {
  let world: ProxiedWorld
  beforeAll(async () => {
    // An API server sends a bookmark about every minute, and a watch stalls after 150 s by default. Both are faster here.
    world = await proxiedWorld({
      env: { REALMKEEPER_WATCH_STALL_SECONDS: String(STALL_SECONDS) },
      bookmarkMillis: 2_000,
    })
  })
  afterAll(() => world?.end())

  test('row 121: they are opened again without a restart, and the missed changes arrive', async () => {
    const { proxy } = world
    const from = proxy.requests.length
    proxy.silenceOpen()
    const changed = await world.change()
    await world.keepLoggingIn(5)
    const stalls = (output: string): number => output.split('a watch sent no event for too long').length - 1
    await until(() => expect(stalls(world.operator.output())).toBeGreaterThan(0), 180)
    expect(await world.operator.isReady()).toBe(true)
    await changed.arrived()
    await world.untilWell()
    // Once each, from the last resource version. A list comes only after a second silence, except of one name.
    const asked = proxy.requests.slice(from)
    expect(asked.filter(({ isWatch }) => isWatch).length).toBeLessThanOrEqual(2 * WATCHES)
    expect(asked.filter(({ url }) => url.includes('limit=250') && !url.includes('fieldSelector='))).toEqual([])
    await until(() => expect(stalls(world.server.output())).toBeGreaterThan(0))
  })
})
