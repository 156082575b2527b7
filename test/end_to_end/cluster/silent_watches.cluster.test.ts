import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from './cluster_world.ts'
import { proxiedWorld, WATCHES } from './proxied_world.ts'
import type { ProxiedWorld } from './proxied_world.ts'

// In a file of its own, because it takes as long as silence has to last before it is taken for one: 150 seconds.
describe('watches that go silent', () => {
  let world: ProxiedWorld
  beforeAll(async () => {
    world = await proxiedWorld()
  })
  afterAll(() => world?.end())

  test('row 121: they are opened anew, without a restart, and what was missed arrives', async () => {
    const { proxy } = world
    const from = proxy.requests.length
    proxy.silenceOpen()
    const changed = await world.change()
    await world.keepLoggingIn(5)
    const count = (): number => world.operator.output().split('a watch went silent').length - 1
    await until(() => expect(count()).toBeGreaterThan(0), 180)
    expect(await world.operator.isReady()).toBe(true)
    await changed.arrived()
    await world.untilWell()
    // Once each, from where they were: a list only where the second one was silent as well.
    const asked = proxy.requests.slice(from)
    expect(asked.filter(({ isWatch }) => isWatch).length).toBeLessThanOrEqual(2 * WATCHES)
    expect(asked.filter(({ url }) => url.includes('limit=250'))).toEqual([])
    expect(world.server.output()).toContain('the watch of a keyring went silent')
  })
})
