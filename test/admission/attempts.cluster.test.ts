import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ATTACKS } from './attacks.ts'
import { LEGITIMATE } from './legitimate.ts'
import { installPolicies } from './policies.ts'
import { untilActing } from './probe.ts'
import { makeWorld, startCluster, verdict } from './world.ts'
import type { Cluster, Stored, World } from './world.ts'
import { condition, entry, jsonStatus, mergeStatus } from './writes.ts'

describe('writes with all policies', () => {
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

  test.for(ATTACKS)('is refused: $name', async ({ run, refusal }) => {
    const { status, body } = await run(world)
    expect({ status, message: body.message }).toEqual({
      status: expect.toBeOneOf([403, 422]),
      message: expect.stringContaining(refusal),
    })
  })

  test('passes: the operator drops an entry on an object of another uid', async () => {
    const remove = { op: 'remove', path: '/status/approvals/0' }
    expect(verdict(await jsonStatus(world.who('operator'), restored[0], [remove]))).toBe('passes')
  })

  test('passes: an approver replaces the decisions that were restored with an object', async () => {
    const status = { approvals: null, conditions: [condition(restored[1], 'amy', { type: 'Denied' })] }
    expect(verdict(await mergeStatus(world.who('amy'), restored[1], status))).toBe('passes')
  })

  test('is refused: a decision with the uid of another object', async () => {
    const object = await world.request()
    const status = { approvals: [entry(object, 'ann', { observedUID: restored[0].metadata.uid })] }
    const { body } = await mergeStatus(world.who('ann'), object, status)
    expect(body.message).toContain('a decision must name the version that it covers')
  })
})

/** A request whose decisions name the uid before a restore. Works only without policies. */
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
