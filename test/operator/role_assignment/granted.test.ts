import { expect, test } from 'vitest'
import { parseGranted } from '../../../operator/role_assignment/granted.ts'
import { approve, reconcile, world } from './world.ts'

function remembered(): Record<string, unknown> {
  const seen = world()
  seen.assignment.durationSeconds = 60
  reconcile(seen)
  approve(seen, 'bob')
  return { ...reconcile(seen).granted, uncounted: [{ approver: 'dave', generation: 1, reason: 'DecidedTooEarly' }] }
}

test('reads what the operator stores', () => {
  expect(parseGranted(remembered())).toEqual(remembered())
  expect(parseGranted({ generation: 1 })).toEqual({ generation: 1 })
})

test.each<[string, (granted: Record<string, unknown>) => unknown]>([
  ['nothing', () => undefined],
  ['null', () => null],
  ['a text', () => 'granted'],
  ['a list', (granted) => [granted]],
  ['no generation', (granted) => ({ ...granted, generation: undefined })],
  ['generation zero', (granted) => ({ ...granted, generation: 0 })],
  ['a fractional generation', (granted) => ({ ...granted, generation: 1.5 })],
  ['an outcome of another version', (granted) => ({ ...granted, outcome: 'Approved' })],
  ['a quorum of none', (granted) => ({ ...granted, requiredApprovals: 0 })],
  ['no realm', (granted) => ({ ...granted, realmUID: undefined })],
  ['roles that are not a list', (granted) => ({ ...granted, roles: 'admin' })],
  ['roles that are not texts', (granted) => ({ ...granted, roles: [{}] })],
  ['an invalid time', (granted) => ({ ...granted, resolvedAt: 'yesterday' })],
  ['uncounted that is not a list', (granted) => ({ ...granted, uncounted: {} })],
  [
    'uncounted without an approver',
    (granted) => ({ ...granted, uncounted: [{ generation: 1, reason: 'DecidedTooEarly' }] }),
  ],
  [
    'serving without roles',
    (granted) => ({ ...granted, serving: { ...Object(granted['serving']), roles: undefined } }),
  ],
  [
    'serving, governed by a text',
    (granted) => ({ ...granted, serving: { ...Object(granted['serving']), governed: 'no' } }),
  ],
  [
    'serving with an invalid expiry',
    (granted) => ({ ...granted, serving: { ...Object(granted['serving']), expiresAt: '' } }),
  ],
])('refuses %s', (_, change) => {
  expect(parseGranted(change(remembered()))).toBeUndefined()
})
