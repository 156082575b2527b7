import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Fault, SeenRequest } from '../../support/fault_proxy.ts'
import { until } from './cluster_world.ts'
import { mostTries, OPERATOR_WATCHES, proxiedWorld, WATCHES } from './proxied_world.ts'
import type { ProxiedWorld } from './proxied_world.ts'

/** Long enough to measure backoff, too short to lose the Lease. */
const STORM_SECONDS = 6
const UNTIL_LEASE_IS_LOST = 13
/** The number of resources in the quickstart. */
const RESOURCES = 6
/** A failure after a watch of this age is the first one in a row. */
const HEALTHY_MILLIS = 5_500

interface Storm {
  asked: SeenRequest[]
  seconds: number
}

describe('with a connection that breaks', () => {
  let world: ProxiedWorld
  beforeAll(async () => {
    world = await proxiedWorld()
  })
  afterAll(() => world?.end())

  /**
   * Cuts all connections and applies `rule` to every call for some seconds, while users log in and change resources.
   * Then calls `ends` and waits until the changes arrive.
   */
  async function storm(
    rule: (request: SeenRequest) => Fault,
    ends: () => void | Promise<void>,
    lasts = STORM_SECONDS,
  ): Promise<Storm> {
    const { proxy } = world
    await sleep(HEALTHY_MILLIS)
    proxy.setFault(rule)
    const from = proxy.requests.length
    const began = performance.now()
    proxy.cut()
    const [changed] = await Promise.all([world.change(), world.keepLoggingIn(lasts)])
    const asked = proxy.requests.slice(from)
    const seconds = (performance.now() - began) / 1_000
    await ends()
    await changed.arrived()
    await world.untilWell()
    return { asked, seconds }
  }

  function expectNoHotLoop({ asked, seconds }: Storm, callsATry = 1): void {
    const by = { operator: 0, server: 0 }
    for (const request of asked) by[world.askedBy(request) ?? 'operator'] += 1
    // Each watch backs off from 250 ms, the Lease is tried every 500 ms to 2 s, what is reconciled meanwhile from 200 ms
    // on, and the nine objects that approvals depend on are read every 2 s at most.
    const operator =
      OPERATOR_WATCHES * mostTries(seconds, 250, 30_000) +
      mostTries(seconds, 500, 2_000) +
      RESOURCES * mostTries(seconds, 200, 60_000) +
      9 * (1 + seconds / 2)
    expect(by.operator).toBeGreaterThan(OPERATOR_WATCHES)
    expect(by.operator).toBeLessThanOrEqual(operator * callsATry)
    // One keyring, one watch.
    expect(by.server).toBeGreaterThan(1)
    expect(by.server).toBeLessThanOrEqual(mostTries(seconds, 250, 15_000) * callsATry)
  }

  test('row 121: all connections are cut, again and again', async () => {
    const changed = await world.change()
    for (let round = 0; round < 10; round++) {
      world.proxy.cut()
      await world.keepLoggingIn(0.1)
    }
    await changed.arrived()
    await world.untilWell()
  })

  test('row 121: 410 in every stream: new lists find the missed changes', async () => {
    const { proxy } = world
    proxy.setSilence(true)
    const changed = await world.change()
    await world.keepLoggingIn(0.1)
    proxy.setSilence(false)
    const expired = { kind: 'Status', status: 'Failure', reason: 'Expired', message: 'too old', code: 410 }
    expect(proxy.inject('', { type: 'ERROR', object: expired })).toBe(WATCHES)
    await changed.arrived()
    await world.untilWell()
  })

  test('row 121: 429 for everything: no watch is tried before Retry-After, and no change is missed', async () => {
    const seen = await storm(
      () => ({ status: 429, retryAfter: 3 }),
      () => world.proxy.clearFault(),
    )
    expectNoHotLoop(seen)
    // Once the connection is gone and its backoff of 250 ms is over, and then every three seconds; backoff alone would
    // try twice as often.
    const tries = seen.asked.filter(({ isWatch, url }) => isWatch || url.includes('limit='))
    expect(tries.length).toBeLessThanOrEqual(WATCHES * Math.ceil(seen.seconds / 3))
  })

  test('row 121: 500 for everything, until the Lease is lost: no hot loop, and no change is missed', async () => {
    const losses = (): number => world.operator.output().split('the Lease is lost').length
    const before = losses()
    expectNoHotLoop(
      await storm(
        () => ({ status: 500 }),
        () => world.proxy.clearFault(),
        UNTIL_LEASE_IS_LOST,
      ),
    )
    expect(losses()).toBeGreaterThan(before)
  })

  test('row 121: tokens that are no longer accepted, until the files hold new ones', async () => {
    const { proxy } = world
    const renewed = await world.renewTokens()
    const refused = (request: SeenRequest): Fault => (world.isFormer(request) ? { status: 401 } : undefined)
    // A call that is refused for its token is repeated once with the present content of the file.
    const seen = await storm(refused, async () => {
      // A file may be empty while it is replaced.
      world.emptyTokenFiles()
      for (const process of [world.operator, world.server]) {
        await until(() => expect(process.output()).toMatch(/the token file .* is empty/))
      }
      renewed.hand()
    })
    expectNoHotLoop(seen, 2)
    const since = proxy.requests.length
    await (await world.change()).arrived()
    expect(proxy.requests.slice(since).filter((request) => world.isFormer(request))).toEqual([])
    proxy.clearFault()
  })
})
