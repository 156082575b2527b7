import { expect, test } from 'vitest'
import type { StatusPatch } from '../../../../operator/source/resource_source.ts'
import { patchedStatus } from '../../../../operator/source/directory/state/object_store.ts'
import type { StoredStatus } from '../../../../operator/source/directory/state/stored_object.ts'

const before = '2030-01-01T00:00:00Z'
const now = new Date('2030-01-02T03:04:05.678Z')
const after = '2030-01-02T03:04:05Z'
const ready = { type: 'Ready', status: 'True', reason: 'Served', message: 'ok', observedGeneration: 1 } as const
const approval = (approver: string) =>
  ({ approver, decision: 'Approved', observedGeneration: 1, observedUID: 'u' }) as const
const held: StoredStatus = {
  observedGeneration: 1,
  conditions: [
    { ...ready, lastTransitionTime: before },
    { type: 'Approved', status: 'True', reason: 'Reviewed', message: '', decidedBy: 'ann', lastTransitionTime: before },
  ],
  approvals: [approval('ann'), approval('bob')],
  subject: 'sub-1',
}
const [heldReady, heldApproved] = held.conditions ?? []

const rows: [string, StoredStatus | undefined, StatusPatch, Partial<StoredStatus> | undefined][] = [
  ['the same again', held, { observedGeneration: 1, conditions: [ready] }, undefined],
  [
    'the same members again',
    held,
    { observedGeneration: 1, conditions: [], fields: { subject: 'sub-1', none: undefined } },
    undefined,
  ],
  ['no approval to remove', held, { observedGeneration: 1, conditions: [], removeApprovals: ['carol'] }, undefined],
  [
    'another message: the time stays',
    held,
    { observedGeneration: 1, conditions: [{ ...ready, message: 'well' }] },
    { conditions: [{ ...ready, message: 'well', lastTransitionTime: before }, heldApproved!] },
  ],
  [
    'another status: the time moves',
    held,
    { observedGeneration: 1, conditions: [{ ...ready, status: 'False' }] },
    { conditions: [{ ...ready, status: 'False', lastTransitionTime: after }, heldApproved!] },
  ],
  [
    'another type beside it',
    held,
    { observedGeneration: 1, conditions: [{ ...ready, type: 'KeysReady' }] },
    { conditions: [heldReady!, heldApproved!, { ...ready, type: 'KeysReady', lastTransitionTime: after }] },
  ],
  [
    'another generation',
    held,
    { observedGeneration: 2, conditions: [] },
    { observedGeneration: 2, conditions: held.conditions! },
  ],
  [
    'the generation of the patch, where a condition names none',
    held,
    { observedGeneration: 2, conditions: [{ type: 'Ready', status: 'True', reason: 'Served', message: 'ok' }] },
    { conditions: [{ ...ready, observedGeneration: 2, lastTransitionTime: before }, heldApproved!] },
  ],
  [
    'a member replaced',
    held,
    { observedGeneration: 1, conditions: [], fields: { subject: 'sub-2' } },
    { subject: 'sub-2' },
  ],
  [
    'one approval removed',
    held,
    { observedGeneration: 1, conditions: [], removeApprovals: ['ann'] },
    { approvals: [approval('bob')] },
  ],
  [
    'a first status',
    undefined,
    { observedGeneration: 1, conditions: [ready] },
    { observedGeneration: 1, conditions: [{ ...ready, lastTransitionTime: after }] },
  ],
]

test.each(rows)('%s', (_what, status, patch, expected) => {
  const found = patchedStatus(status, patch, now)
  if (!expected) return expect(found).toBeUndefined()
  return expect(found).toEqual({ ...status, observedGeneration: patch.observedGeneration, ...expected })
})

test('the last approval and a removed member leave nothing behind', () => {
  const patch = {
    observedGeneration: 1,
    conditions: [],
    removeApprovals: ['ann', 'bob'],
    fields: { subject: undefined },
  }
  expect(Object.keys(patchedStatus(held, patch, now) ?? {})).toEqual(['observedGeneration', 'conditions'])
})
