import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ATTACKS } from './attacks.ts'
import { LEGITIMATE } from './legitimate.ts'
import { installPolicies } from './policies.ts'
import { untilActing } from './probe.ts'
import { makeWorld, startCluster, verdict } from './world.ts'
import type { Cluster, Stored, World } from './world.ts'
import { condition, entry, jsonStatus, mergeStatus } from './writes.ts'

describe('what admission lets through', () => {
  let cluster: Cluster
  let world: World
  let restored: Stored[]
  beforeAll(async () => {
    cluster = await startCluster()
    world = await makeWorld(cluster, 'attempts')
    restored = [await restore(world), await restore(world)]
    await installPolicies(cluster.admin)
    await untilActing(world)
  })
  afterAll(() => cluster?.stop())

  test.for(LEGITIMATE)('passes: $name', async ({ run }) => {
    expect(verdict(await run(world))).toBe('passes')
  })

  test.for(ATTACKS)('is refused: $name', async ({ run, said }) => {
    const { status, body } = await run(world)
    expect({ status, message: body.message }).toEqual({
      status: expect.toBeOneOf([403, 422]),
      message: expect.stringContaining(said),
    })
  })

  test('passes: the operator drops an entry on an object of another uid', async () => {
    const remove = { op: 'remove', path: '/status/approvals/0' }
    expect(verdict(await jsonStatus(world.who('operator'), restored[0], [remove]))).toBe('passes')
  })

  test('passes: an approver decides on a restored object, in the place of what was restored with it', async () => {
    const status = { approvals: null, conditions: [condition(restored[1], 'amy', { type: 'Denied' })] }
    expect(verdict(await mergeStatus(world.who('amy'), restored[1], status))).toBe('passes')
  })

  test('is refused: an old decision counts as no decision on the object at hand', async () => {
    const object = await world.request()
    const status = { approvals: [entry(object, 'ann', { observedUID: restored[0].metadata.uid })] }
    const { body } = await mergeStatus(world.who('ann'), object, status)
    expect(body.message).toContain('a decision must name the version that it covers')
  })
})

/** A request with decisions on the object that it was before a restore; as things are while there are no policies. */
async function restore(world: World): Promise<Stored> {
  const request = await world.request()
  const observedUID = 'of-a-backup'
  const { status, body } = await mergeStatus(world.cluster.admin, request, {
    approvals: [entry(request, 'ann', { observedUID })],
    conditions: [condition(request, 'ann', { observedUID })],
  })
  if (status >= 300) throw new Error(body.message)
  return body
}
