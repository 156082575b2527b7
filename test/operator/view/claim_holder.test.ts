import { expect, test } from 'vitest'
import { claimHolder } from '../../../operator/view/view.ts'
import type { Resource } from '../../../operator/source/resource.ts'

function claimant(uid: string, creationTimestamp: string, name = uid, namespace = 'default'): Resource {
  const metadata = { name, namespace, uid, generation: 1, resourceVersion: '1', creationTimestamp }
  return { apiVersion: 'realmkeeper.io/v1alpha1', kind: 'User', metadata, spec: {} }
}

const OLD = '2030-01-01T00:00:00Z'
const NEW = '2030-01-02T00:00:00Z'

test.each([
  ['the recorded owner wins over an older one', [claimant('a', OLD), claimant('b', NEW)], 'b', 'b'],
  ['a recorded owner that is gone does not count', [claimant('b', NEW), claimant('a', OLD)], 'gone', 'a'],
  ['the older wins', [claimant('b', NEW), claimant('a', OLD)], undefined, 'a'],
  [
    'of one age the first by namespace and name',
    [claimant('x', OLD, 'n', 'two'), claimant('y', OLD, 'z', 'one')],
    undefined,
    'y',
  ],
  ['of one name the first by uid', [claimant('y', OLD, 'n'), claimant('x', OLD, 'n')], undefined, 'x'],
  [
    'times are compared as times',
    [claimant('a', '2030-01-01T02:00:00+02:00'), claimant('b', '2030-01-01T00:00:01Z')],
    undefined,
    'a',
  ],
])('row 94: %s', (_what, claimants, recorded, expected) => {
  expect(claimHolder(claimants, recorded)?.metadata.uid).toBe(expected)
  expect(claimHolder(claimants.toReversed(), recorded)?.metadata.uid).toBe(expected)
})

test('row 94: a name without claimants has no holder', () => {
  expect(claimHolder([], 'a')).toBeUndefined()
})
