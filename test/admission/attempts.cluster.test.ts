import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ATTACKS } from './attacks.ts'
import { LEGITIMATE } from './legitimate.ts'
import { installPolicies } from '../support/policies.ts'
import { untilActing } from './probe.ts'
import { makeWorld, startCluster, throughVersion, verdict } from './world.ts'
import type { Cluster, Stored, World } from './world.ts'
import { applyStatus, condition, entry, jsonStatus, merge, mergeStatus, read } from './writes.ts'

/** The API server and the version of the resources. On the oldest, random sequences and races are left out. */
const VERSIONS = [
  { kubernetes: 'newest', served: 'v1alpha1' },
  { kubernetes: 'newest', served: 'v1beta1' },
  { kubernetes: 'oldest', served: 'v1beta1' },
] as const

describe.each(VERSIONS)('writes with all policies: $kubernetes Kubernetes, $served', (versions) => {
  let cluster: Cluster
  let world: World
  let restored: Stored[]
  beforeAll(async () => {
    cluster = await startCluster(versions)
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

  test('runs on the version of Kubernetes that its name says', async () => {
    const { gitVersion } = await cluster.admin.do('GET', '/version')
    expect(gitVersion.startsWith('v1.30.')).toBe(versions.kubernetes === 'oldest')
  })

  test('a decision through another served version is the same decision', async () => {
    const amy = cluster.plane.user('amy')
    const other = versions.served === 'v1alpha1' ? throughVersion(amy, 'v1beta1') : amy
    const request = await world.request()
    const approvals = [entry(request, 'ann')]
    expect(verdict(await applyStatus(world.who('ann'), request, { approvals }))).toBe('passes')

    const seen = await read(other, request)
    expect(seen.apiVersion).not.toBe(request.apiVersion)
    expect(seen.status.approvals).toEqual(approvals)
    const without = await mergeStatus(other, seen, { approvals: [entry(seen, 'amy')] })
    expect(without.body.message).toContain('an entry that covers the present generation cannot be removed or changed')
    const asAnn = await applyStatus(other, seen, { approvals: [entry(seen, 'ann', { comment: 'mine' })] }, 'x', true)
    expect(asAnn.status).toBeOneOf([403, 422])
    expect(verdict(await applyStatus(other, seen, { approvals: [entry(seen, 'amy')] }))).toBe('passes')

    const after = [await read(world.who('ann'), request), await read(other, seen)]
    for (const { status } of after)
      expect(status.approvals.map(({ approver }: Stored) => approver).toSorted()).toEqual(['amy', 'ann'])
    const edit = await merge(other, seen, { spec: { roles: ['auditor'] } })
    expect(edit.status).toBe(403)
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
