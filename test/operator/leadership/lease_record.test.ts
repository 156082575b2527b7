import { expect, test } from 'vitest'
import { heldRecord, isFree, microTime, releasedRecord } from '../../../operator/leadership/lease_record.ts'
import type { LeaseRecord, Observed } from '../../../operator/leadership/lease_record.ts'

const now = new Date('2026-01-02T03:04:05.678Z')
const held: LeaseRecord = {
  holderIdentity: 'one',
  leaseDurationSeconds: 15,
  acquireTime: '2026-01-01T00:00:00.000000Z',
  renewTime: '2026-01-02T00:00:00.000000Z',
  leaseTransitions: 3,
}
const seen = (record: LeaseRecord, at = 0): Observed => ({ record, uid: 'one', resourceVersion: '1', at })

test('six digits, as metav1.MicroTime requires', () => {
  expect(microTime(now)).toBe('2026-01-02T03:04:05.678000Z')
})

test.for<[string, Observed, number, boolean]>([
  ['just seen', seen(held), 0, false],
  ['seen for exactly its duration', seen(held), 15_000, false],
  ['unchanged for longer than its duration', seen(held), 15_001, true],
  ['seen later, so free later', seen(held, 10_000), 25_000, false],
  ['released', seen({ ...held, holderIdentity: '' }), 0, true],
  ['with a holder of null', seen({ ...held, holderIdentity: null }), 0, true],
  ['without any content', seen({}), 0, true],
  ['of a holder that asked for a minute', seen({ ...held, leaseDurationSeconds: 60 }), 59_000, false],
  ['without a duration: that of this process', seen({ holderIdentity: 'one' }), 14_999, false],
  ['with times of another year', seen({ ...held, renewTime: '1970-01-01T00:00:00.000000Z' }), 0, false],
])('a Lease %s', ([, observed, at, free]) => {
  expect(isFree(observed, at, 15)).toBe(free)
})

test('a renewal keeps the acquire time and counts no transition', () => {
  const kept = heldRecord({ holder: 'one', durationSeconds: 15, now, before: held })
  expect(kept).toEqual({ ...held, renewTime: microTime(now) })
})

test('a change of holder counts one transition', () => {
  const taken = heldRecord({ holder: 'two', durationSeconds: 20, now, before: held })
  expect(taken).toMatchObject({ holderIdentity: 'two', leaseDurationSeconds: 20, leaseTransitions: 4 })
  expect(taken.acquireTime).toBe(microTime(now))
})

test('a new Lease counts no transition', () => {
  expect(heldRecord({ holder: 'two', durationSeconds: 15, now, before: undefined }).leaseTransitions).toBe(0)
})

test('a released Lease has no holder and keeps its transitions', () => {
  expect(releasedRecord(held, now)).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 3 })
})
