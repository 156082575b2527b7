import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ATTACKS } from './attacks.ts'
import { LEGITIMATE } from './legitimate.ts'
import { installPolicies } from '../support/policies.ts'
import { untilActing } from './probe.ts'
import { limited, WEAKENED } from './weakened.ts'
import type { Weakened } from './weakened.ts'
import { makeWorld, startCluster, verdict } from './world.ts'
import type { Cluster, World } from './world.ts'

describe('policies without one rule', () => {
  let cluster: Cluster
  const worlds = new Map<Weakened, World>()
  beforeAll(async () => {
    cluster = await startCluster()
    for (const [index, weakened] of WEAKENED.entries()) {
      await installPolicies(cluster.admin, limited(weakened, index))
      worlds.set(weakened, await makeWorld(cluster, `weak-${index}`, { 'less-one-rule': `${index}` }))
    }
  })
  afterAll(() => cluster?.stop())

  test.for(WEAKENED)('an attack passes $name', async (weakened) => {
    const world = worlds.get(weakened)!
    await untilActing(world, weakened.acting)
    const refused = ATTACKS.find(({ name }) => name === weakened.refuses)
    await expect.poll(async () => (refused ? verdict(await refused.run(world)) : '403')).toMatch(/^4/)
    const attacks = ATTACKS.filter(({ name }) => weakened.attacks.includes(name))
    const verdicts = []
    for (const { run } of attacks) verdicts.push(verdict(await run(world)))
    expect(verdicts).toContain('passes')
  })

  test('legitimate writes pass without policies', async () => {
    const world = await makeWorld(cluster, 'free')
    for (const { name, run } of LEGITIMATE) expect(`${name}: ${verdict(await run(world))}`).toBe(`${name}: passes`)
  })
})
