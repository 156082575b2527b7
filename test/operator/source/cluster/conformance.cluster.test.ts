import { afterAll, beforeAll, describe, test } from 'vitest'
import { startControlPlane } from '../../../support/control_plane.ts'
import type { ControlPlane } from '../../../support/control_plane.ts'
import { scenarios } from '../conformance.ts'
import { clusterWorld, prepareWorlds } from './world.ts'

// The controller manager contains the garbage collector.
describe('a cluster behaves as reconcilers expect', () => {
  let plane: ControlPlane
  beforeAll(async () => {
    plane = await startControlPlane({ controllers: true })
    await prepareWorlds(plane)
  })
  afterAll(() => plane?.stop())

  for (const { name, run } of scenarios) {
    test(name, async () => run(await clusterWorld(plane)))
  }
})
