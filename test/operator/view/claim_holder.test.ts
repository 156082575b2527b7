import { expect, test } from 'vitest'
import { createRows } from '../../../operator/rows/rows.ts'
import { keyOf } from '../../../operator/source/resource.ts'
import type { Resource, ResourceKey } from '../../../operator/source/resource.ts'
import type { ResourceSource } from '../../../operator/source/resource_source.ts'
import { ageOf } from '../../../operator/view/claims.ts'
import { relationIndex } from '../../../operator/view/relation_index.ts'
import { createView } from '../../../operator/view/view.ts'

function claimant(uid: string, creationTimestamp: string, name = uid, namespace = 'default'): Resource {
  const metadata = { name, namespace, uid, generation: 1, resourceVersion: '1', creationTimestamp }
  return { apiVersion: 'realmkeeper.io/v1alpha1', kind: 'Realm', metadata, spec: {} }
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
  [
    'times are compared as times',
    [claimant('a', '2030-01-01T02:00:00+02:00'), claimant('b', '2030-01-01T00:00:01Z')],
    undefined,
    'a',
  ],
])('row 94: %s', (_what, claimants, recorded, expected) => {
  expect(holderOf(claimants, recorded)).toBe(expected)
  expect(holderOf(claimants.toReversed(), recorded)).toBe(expected)
})

test('row 94: a name without claimants has no holder', () => {
  expect(holderOf([], 'a')).toBeUndefined()
})

test('row 94: one that is being deleted holds a name only while it is the recorded owner', () => {
  const [deleted, other] = [claimant('a', OLD), claimant('b', NEW)]
  deleted.metadata.deletionTimestamp = NEW
  expect(holderOf([deleted, other], undefined)).toBe('b')
  expect(holderOf([deleted, other], 'a')).toBe('a')
})

/** uid of the holder among claimants that appeared in this order. */
function holderOf(claimants: Resource[], recorded: string | undefined): string | undefined {
  const index = relationIndex()
  for (const one of claimants) {
    index.update(keyOf(one), { is: [], claims: ['shop'], uses: [], uid: one.metadata.uid, age: ageOf(one) })
  }
  const get = ({ name, namespace }: ResourceKey) =>
    claimants.find(({ metadata }) => metadata.name === name && metadata.namespace === namespace)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the members that the claim of a Realm uses
  const view = createView({ get } as unknown as ResourceSource, index, createRows(), () => false)
  return view.holderOf('Realm', 'shop', recorded)?.metadata.uid
}
