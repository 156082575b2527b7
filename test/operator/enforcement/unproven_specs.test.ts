import { beforeEach, describe, expect, test } from 'vitest'
import { markUnprovenSpecs } from '../../../operator/enforcement/unproven_specs.ts'
import { specState, writtenSpec } from '../../../operator/role_assignment/spec_state.ts'
import { storeAccess } from '../../../operator/rows/store_access.ts'
import type { StoreAccess } from '../../../operator/rows/store_access.ts'
import type { RoleAssignmentResource } from '../../../operator/view/resource_types.ts'
import { takeEpoch } from '../../../store/operator/epoch.ts'
import { endSpecProof, findSpecProof, recordProvenSpec } from '../../../store/operator/spec_proofs.ts'
import { testDatabase } from '../../support/postgres.ts'
import { assignmentWith } from './memory_policies.ts'

let store: StoreAccess

beforeEach(async () => {
  const database = await testDatabase()
  const epoch = await takeEpoch(database.pool, 'test')
  store = storeAccess({ pool: database.pool, epoch, now: () => new Date(), auditWriter: 'operator/test' })
  return () => database.drop()
})

const BEFORE = assignmentWith([], { generation: 3 })
const sameGeneration = (roles: [string]): RoleAssignmentResource => ({ ...BEFORE, spec: { ...BEFORE.spec, roles } })

async function stateOf(resource: RoleAssignmentResource): Promise<string> {
  return specState(await findSpecProof(store.db, resource.metadata.uid), writtenSpec(resource))
}
const prove = (resource: RoleAssignmentResource) => recordProvenSpec(store.db, writtenSpec(resource))
const endGap = (live: RoleAssignmentResource[], cached: RoleAssignmentResource[] = []) =>
  markUnprovenSpecs(store, { live, cached })

describe('of a spec that was proven before the gap, the gap leaves', () => {
  test.for<[string, RoleAssignmentResource, string]>([
    ['the same spec', BEFORE, 'proven'],
    ['a spec edited once', assignmentWith([], { generation: 4 }), 'unproven'],
    ['a spec edited twice', assignmentWith([], { generation: 5 }), 'unproven'],
    ['an object re-created under its name', assignmentWith([], { uid: 'uid-2', generation: 1 }), 'unproven'],
    ['other content of the same generation, from a restored cluster', sameGeneration(['admin']), 'unproven'],
    ['an older generation, from a restored cluster', assignmentWith([], { generation: 2 }), 'unproven'],
  ])('%s', async ([, after, expected]) => {
    await prove(BEFORE)
    await endGap([after])
    expect(await stateOf(after)).toBe(expected)
  })
})

test('a spec that was never seen before the gap ended is unproven', async () => {
  expect(await endGap([BEFORE])).toBe(1)
  expect(await stateOf(BEFORE)).toBe('unproven')
})

test('the next generation is not known yet, and can be proven', async () => {
  await endGap([BEFORE])
  const edited = assignmentWith([], { generation: 4 })
  expect(await stateOf(edited)).toBe('unknown')
  await prove(edited)
  expect(await stateOf(edited)).toBe('proven')
})

test('a proof that arrives after the mark does not remove it', async () => {
  await endGap([BEFORE])
  await prove(BEFORE)
  expect(await stateOf(BEFORE)).toBe('unproven')
})

test('an object restored to a former generation, edited to a generation that was proven, is not taken for it', async () => {
  await prove(BEFORE)
  expect(await stateOf(sameGeneration(['admin']))).toBe('unknown')
})

test('the later of the live and the cached generation is marked', async () => {
  await endGap([assignmentWith([], { generation: 2 }), BEFORE], [assignmentWith([], { generation: 4 })])
  expect(await stateOf(assignmentWith([], { generation: 4 }))).toBe('unproven')
  expect(await stateOf(BEFORE)).toBe('unproven')
})

test.each(['proven', 'unproven', 'unknown'])(
  'a deleted object, %s before, that a restored cluster brings back is unproven until it is edited',
  async (state) => {
    if (state === 'proven') await prove(BEFORE)
    if (state === 'unproven') await endGap([BEFORE])
    await endSpecProof(store.db, { assignmentUid: 'uid-1', generation: 3 })
    expect(await stateOf(BEFORE)).toBe('unproven')
    expect(await stateOf(assignmentWith([], { generation: 2 }))).toBe('unproven')
    await prove(BEFORE)
    expect(await stateOf(BEFORE)).toBe('unproven')
    const edited = assignmentWith([], { generation: 4 })
    expect(await stateOf(edited)).toBe('unknown')
    await prove(edited)
    expect(await stateOf(edited)).toBe('proven')
  },
)

test('an object that was restored to a former generation and deleted there does not repeat generations', async () => {
  await prove(BEFORE)
  await endSpecProof(store.db, { assignmentUid: 'uid-1', generation: 1 })
  expect(await stateOf(assignmentWith([], { generation: 2 }))).toBe('unproven')
  expect(await stateOf(sameGeneration(['admin']))).toBe('unproven')
})

test('more objects than a batch holds, marked again after an interruption', async () => {
  const many = Array.from({ length: 2_500 }, (_, at) => assignmentWith([], { uid: `uid-${at}`, name: `name-${at}` }))
  expect(await endGap(many.slice(0, 1_700))).toBe(1_700)
  expect(await endGap(many)).toBe(800)
  expect(await endGap(many)).toBe(0)
})
