import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Fault, SeenRequest } from '../../support/fault_proxy.ts'
import { mostTries, OPERATOR_WATCHES, proxiedWorld, WATCHES } from './proxied_world.ts'
import type { ProxiedWorld } from './proxied_world.ts'

/** Long enough for backoff to show, too short for the Lease to be lost. */
const STORM_SECONDS = 6
const UNTIL_LEASE_IS_LOST = 13
/** Of the quickstart. */
const RESOURCES = 6
/** A watch that lived so long begins its backoff anew. */
const WELL_MILLIS = 5_500

interface Storm {
  asked: SeenRequest[]
  seconds: number
}

describe('behind a connection that breaks', () => {
  let world: ProxiedWorld
  beforeAll(async () => {
    world = await proxiedWorld()
  })
  afterAll(() => world?.end())

  /**
   * All connections end, and every call meets `rule` for some seconds, while somebody logs in and changes things; then
   * it `ends`, and what was changed arrives.
   */
  async function storm(
    rule: (request: SeenRequest) => Fault,
    ends: () => void | Promise<void>,
    lasts = STORM_SECONDS,
  ): Promise<Storm> {
    const { proxy } = world
    await sleep(WELL_MILLIS)
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
    // on, and the nine objects that approval hangs on are looked at every 2 s at most.
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

  test('row 121: 410 in every stream: what happened unseen is found', async () => {
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

  test('row 121: 429 for everything: nobody asks before the time of Retry-After, and nothing is missed', async () => {
    const seen = await storm(
      () => ({ status: 429, retryAfter: 3 }),
      () => world.proxy.clearFault(),
    )
    expectNoHotLoop(seen)
    // Once the connection is gone and its backoff of 250 ms is over, and then every three seconds; backoff alone would
    // have asked twice as often.
    const looked = seen.asked.filter(({ isWatch, url }) => isWatch || url.includes('limit=250'))
    expect(looked.length).toBeLessThanOrEqual(WATCHES * Math.ceil(seen.seconds / 3))
  })

  test('row 121: 500 for everything, until the Lease is lost: no hot loop, and nothing is missed', async () => {
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

  test('row 121: tokens that are not accepted any more, until others lie in the files', async () => {
    const { proxy } = world
    const renewed = await world.renewTokens()
    const refused = (request: SeenRequest): Fault => (world.isFormer(request) ? { status: 401 } : undefined)
    // A call that is refused for its token is made once more, with what the file holds then.
    const seen = await storm(refused, async () => {
      // Nobody says that a file is written at once.
      world.emptyTokenFiles()
      await sleep(3_000)
      renewed.hand()
    })
    expectNoHotLoop(seen, 2)
    const since = proxy.requests.length
    await (await world.change()).arrived()
    expect(proxy.requests.slice(since).filter((request) => world.isFormer(request))).toEqual([])
    proxy.clearFault()
  })
})
