import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { ManifestObject } from '../../../operator/enforcement/release/shipped_set.ts'
import type { ControlPlane } from '../../support/control_plane.ts'
import { MERGE_PATCH } from '../../support/control_plane/account.ts'
import type { Account } from '../../support/control_plane/account.ts'
import { POLICY_PATHS, removePolicies } from '../../support/policies.ts'
import { eventually } from '../operator_under_test.ts'
import { formerObjects, FORMER_SET, PRESENT_SET, presentObjects, REQUESTS } from './releases.ts'
import { enforcementPlane, enforcementWorld } from './world.ts'
import type { EnforcementWorld, Running } from './world.ts'

const PATHS: Record<string, string> = {
  ...POLICY_PATHS,
  CustomResourceDefinition: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
}

describe('an upgrade that changes policies and the CRD', () => {
  let plane: ControlPlane
  let ann: Account
  let frank: Account
  let world: EnforcementWorld
  let former: Running
  let worlds = 0

  beforeAll(async () => {
    plane = await enforcementPlane('ann', 'frank')
    ann = plane.user('ann')
    frank = plane.user('frank')
  })
  afterAll(() => plane?.stop())

  /** The former release, and a request that waits. */
  beforeEach(async () => {
    await removePolicies(plane.admin)
    world = await enforcementWorld(plane, `upgrade-${++worlds}`)
    const ended = world
    onTestFinished(() => ended.end())
    await apply(formerObjects())
    await world.createRealm()
    former = await world.start({ set: FORMER_SET })
    await world.untilEnforced('True', 'Enforced')
    await world.request('waiting')
    await world.untilSaid('waiting', 'PendingApproval')
  })

  /** As `helm upgrade` does: creates what is missing, and patches what differs. */
  async function apply(objects: readonly ManifestObject[]): Promise<void> {
    for (const object of objects) {
      const path = PATHS[object.kind]!
      const { metadata, spec } = object
      const { status } = await plane.admin.call(
        'PATCH',
        `${path}/${metadata.name}`,
        { spec },
        { contentType: MERGE_PATCH },
      )
      if (status === 404) await plane.admin.do('POST', path, object)
    }
  }

  async function gapSince(): Promise<Date | null> {
    const { rows } = await world.database.pool.query<{ since: Date | null }>(
      'select gap_since as since from approval_enforcement',
    )
    return rows[0]!.since
  }

  async function untilEnforced(): Promise<void> {
    await eventually(async () => expect(await gapSince()).toBeNull())
  }

  const forge = (name: string) => world.request(name, { as: frank, requestedBy: 'carol' })
  const policy = `${PATHS['ValidatingAdmissionPolicy']}/${REQUESTS}`
  const spec = (objects: readonly ManifestObject[]) =>
    objects.find(({ kind, metadata }) => kind === 'ValidatingAdmissionPolicy' && metadata.name === REQUESTS)!.spec

  test('is no gap: requests from before it and in it are approved after it', async () => {
    await apply(presentObjects())
    // The operator of the former release does not know these policies.
    await eventually(async () => expect(await gapSince()).not.toBeNull())
    await world.request('during', { as: frank, requestedBy: 'frank' })
    await expect(forge('forged')).rejects.toThrow('spec.requestedBy must be frank')
    await former.stop()
    await world.start({ set: PRESENT_SET })
    expect(await gapSince()).toBeNull()
    for (const name of ['waiting', 'during']) {
      await world.untilSaid(name, 'PendingApproval')
      await world.approve(name, ann)
      await world.untilSaid(name, 'Granted')
    }
  })

  test('is no gap when no operator runs meanwhile, and decisions made in it count', async () => {
    await former.stop()
    await apply(presentObjects())
    await world.approve('waiting', ann)
    await world.start({ set: PRESENT_SET })
    await world.untilSaid('waiting', 'Granted')
  })

  test('is a gap when a policy was deleted and created as the new release has it', async () => {
    await former.stop()
    await plane.admin.do('DELETE', policy)
    await eventually(() => forge('forged'))
    await apply(presentObjects())
    await world.start({ set: PRESENT_SET })
    await untilEnforced()
    await world.untilSaid('forged', 'DecisionUnproven')
    await world.untilSaid('waiting', 'PendingApproval')
  })

  test('is a gap when a policy had another spec in between', async () => {
    await former.stop()
    const open = {
      ...(spec(formerObjects()) as object),
      failurePolicy: 'Ignore',
      validations: [{ expression: 'true' }],
    }
    await plane.admin.do('PATCH', policy, { spec: open }, { contentType: MERGE_PATCH })
    await eventually(() => forge('forged'))
    await apply(presentObjects())
    await world.start({ set: PRESENT_SET })
    await untilEnforced()
    await world.untilSaid('forged', 'DecisionUnproven')
    await world.approve('forged', frank)
    await eventually(async () => {
      const { status } = await world.read('forged')
      expect(status?.granted?.uncounted).toMatchObject([{ approver: 'frank' }])
    })
    expect(await world.granted()).toEqual([])
  })
})
