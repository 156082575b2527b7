import { describe, expect, test } from 'vitest'
import type { RoleAssignmentStatus } from '../../../../crds/role_assignment.gen.ts'
import { assignment, key } from '../conformance.ts'
import { directoryWorld } from './world.ts'
import type { DirectoryWorld } from './world.ts'

const readers = key('RoleAssignment', 'readers')

function status(world: DirectoryWorld): RoleAssignmentStatus {
  return world.source().get(readers)?.status ?? {}
}

const approvers = (world: DirectoryWorld) =>
  (status(world).approvals ?? []).map((entry) => `${entry.approver} ${entry.decision}`)
const words = (world: DirectoryWorld) =>
  (status(world).conditions ?? []).filter(({ type }) => type !== 'Ready').map((one) => `${one.decidedBy} ${one.type}`)

async function pending(world: DirectoryWorld, more: object = {}) {
  await world.apply({ ...assignment('readers'), ...more })
  const { metadata } = await world.eventually(() => world.source().get(readers))
  return { observedGeneration: metadata.generation, observedUID: metadata.uid }
}

describe('row 99: the status of a new object', () => {
  test('is dropped, also after a restart, and later decisions are read', async () => {
    const world = await directoryWorld()
    const old = { approver: 'ann', decision: 'Approved', observedGeneration: 1, observedUID: 'former' }
    const observed = await pending(world, {
      status: { approvals: [old], granted: { generation: 1 }, observedGeneration: 1 },
    })
    expect(status(world)).toEqual({})
    await world.restart()
    await world.decide(readers, { approvals: [old, { approver: 'bob', decision: 'Approved', ...observed }] })
    await world.eventually(() => approvers(world).length > 0)
    expect(approvers(world)).toEqual(['bob Approved'])
    expect(world.reported).toEqual([])
  })

  test('row 110: is dropped again for an object that was deleted and restored', async () => {
    const world = await directoryWorld()
    const observed = await pending(world)
    const entry = { approver: 'ann', decision: 'Approved', ...observed }
    await world.decide(readers, { approvals: [entry] })
    await world.eventually(() => approvers(world).length === 1)
    await world.remove(assignment('readers'))
    await world.eventually(() => world.source().get(readers) === undefined)
    const again = await pending(world, { status: { approvals: [entry] } })
    await world.fence()
    expect(again.observedUID).not.toBe(observed.observedUID)
    expect(approvers(world)).toEqual([])
  })
})

describe('what counts as a decision', () => {
  test('row 104: no other member of the status in a file is read', async () => {
    const world = await directoryWorld()
    const observed = await pending(world)
    await world.source().writeStatus(readers, observed.observedUID, {
      observedGeneration: 1,
      conditions: [{ type: 'Ready', status: 'False', reason: 'PendingApproval', message: '' }],
    })
    const before = status(world)
    const ready = { type: 'Ready', status: 'True', reason: 'Granted', message: 'forged' }
    await world.apply({ ...assignment('readers'), status: { granted: { generation: 1 }, conditions: [ready] } })
    await world.fence()
    expect(status(world)).toEqual(before)
  })

  test('a decision saved together with an edit of the spec is about the spec before', async () => {
    const world = await directoryWorld()
    const observed = await pending(world)
    const guess = { approver: 'ann', decision: 'Approved', ...observed, observedGeneration: 2 }
    const fair = { approver: 'bob', decision: 'Approved', ...observed }
    await world.apply({ ...assignment('readers', ['reader', 'admin']), status: { approvals: [guess, fair] } })
    await world.eventually(() => world.source().get(readers)?.metadata.generation === 2)
    await world.fence()
    expect(approvers(world)).toEqual(['bob Approved'])
    expect(status(world).approvals?.[0]?.observedGeneration).toBe(1)
    expect(world.reported).toEqual([
      expect.stringMatching(
        /status\.approvals\[0\]: not counted: a decision names what was seen, here observedGeneration: 1/,
      ),
    ])
  })

  test('row 106: a condition is Approved or Denied, with status True and a reason, and nothing replaces Denied', async () => {
    const world = await directoryWorld()
    const observed = { ...(await pending(world)), decidedBy: 'ann' }
    const word = (type: string, more: object = {}) => ({
      type,
      status: 'True',
      reason: 'Reviewed',
      ...observed,
      ...more,
    })
    const steps: [object, string[]][] = [
      [word('Approved', { status: 'False' }), []],
      [word('Approved', { reason: '' }), []],
      [word('Approved', { decidedBy: undefined }), []],
      [word('Approved', { reason: undefined }), []],
      [word('Approved'), ['ann Approved']],
      [word('Approved', { decidedBy: 'bob' }), ['ann Approved']],
      [word('Denied', { decidedBy: 'bob' }), ['bob Denied']],
      [word('Approved', { decidedBy: 'bob', reason: 'Again' }), ['bob Denied']],
    ]
    for (const [condition, expected] of steps) {
      await world.decide(readers, { conditions: [condition] })
      await world.fence()
      expect(words(world)).toEqual(expected)
    }
    expect(world.reported).toHaveLength(6)
  })

  test('an entry that the schema refuses is reported once and does not count', async () => {
    const world = await directoryWorld()
    const observed = await pending(world)
    const entries = [
      { approver: '', decision: 'Approved', ...observed },
      { approver: 'x'.repeat(513), decision: 'Approved', ...observed },
      { approver: 'ann', decision: 'Perhaps', ...observed },
      { approver: 'bob', decision: 'Approved', ...observed, forged: true },
      { decision: 'Approved', ...observed },
      { approver: 'carol', decision: 'Approved', ...observed, comment: 'fine' },
    ]
    await world.decide(readers, { approvals: entries })
    await world.eventually(() => approvers(world).length > 0)
    expect(approvers(world)).toEqual(['carol Approved'])
    expect(world.reported).toHaveLength(5)
    await world.restart()
    await world.fence()
    expect(approvers(world)).toEqual(['carol Approved'])
  })

  test('while an edit is refused, decisions in the file do not count', async () => {
    const world = await directoryWorld()
    const observed = await pending(world)
    const entry = { approver: 'ann', decision: 'Approved', ...observed }
    const changed = assignment('readers', ['admin'], { subject: { kind: 'User', name: 'mallory' } })
    await world.apply({ ...changed, status: { approvals: [entry] } })
    await world.fence()
    expect(approvers(world)).toEqual([])
    await world.apply({ ...assignment('readers'), status: { approvals: [entry] } })
    await world.eventually(() => approvers(world).length === 1)
  })

  test('decisions on other kinds are ignored', async () => {
    const world = await directoryWorld()
    await world.apply({ apiVersion: 'realmkeeper.io/v1beta1', kind: 'Realm', metadata: { name: 'acme' }, spec: {} })
    const resource = await world.eventually(() => world.source().get(key('Realm', 'acme')))
    const observed = { observedUID: resource.metadata.uid, observedGeneration: 1, decidedBy: 'ann' }
    const condition = { type: 'Approved', status: 'True', reason: 'X', ...observed }
    const manifest = { apiVersion: 'realmkeeper.io/v1beta1', kind: 'Realm', metadata: { name: 'acme' }, spec: {} }
    await world.apply({ ...manifest, status: { conditions: [condition] } })
    await world.fence()
    expect(world.source().get(key('Realm', 'acme'))?.status).toBeUndefined()
  })
})
