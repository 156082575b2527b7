import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { listIdentitiesOf } from '../../../operator/rows/list_identities.ts'
import type { ListIdentities } from '../../../operator/rows/list_identities.ts'
import { storeAccess } from '../../../operator/rows/store_access.ts'
import type { StoreAccess } from '../../../operator/rows/store_access.ts'
import type { Kind } from '../../../operator/source/resource.ts'
import { takeEpoch } from '../../../store/operator/epoch.ts'
import { testDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'

let database: TestDatabase
let store: StoreAccess
beforeAll(async () => {
  database = await testDatabase()
  const epoch = await takeEpoch(database.pool, 'test')
  store = storeAccess({ pool: database.pool, epoch, now: () => new Date(), auditWriter: 'operator/test' })
})
afterAll(() => database?.drop())
beforeEach(() => database.pool.query('delete from resource_lists'))

interface Start {
  /** The uid of the CustomResourceDefinition of every kind. */
  crd: string
  /** Absent: all namespaces. */
  scope?: string[]
  acceptEmpty?: Kind[]
}

/** A start of the operator. */
async function start({ crd, scope, acceptEmpty = [] }: Start): Promise<ListIdentities> {
  const source = { completeList: () => ({ identity: crd }), scope }
  const identities = listIdentitiesOf({ source, store, acceptEmpty })
  await identities.load()
  return identities
}

const removable = (identities: ListIdentities, ...namespaces: string[]): boolean[] =>
  namespaces.map((namespace) => identities.mayRemove('User', namespace))

test('a list covers every namespace when all are watched', async () => {
  expect(removable(await start({ crd: 'one' }), 'shop', 'idp')).toEqual([true, true])
})

test('after the scope was narrowed, rows elsewhere stay, also after later starts', async () => {
  await start({ crd: 'one' })
  expect(removable(await start({ crd: 'one', scope: ['shop'] }), 'shop', 'idp')).toEqual([true, false])
  expect(removable(await start({ crd: 'one', scope: ['shop'] }), 'shop', 'idp')).toEqual([true, false])
})

test('grants elsewhere stay as rows do', async () => {
  await start({ crd: 'one' })
  const narrow = await start({ crd: 'one', scope: ['shop'] })
  expect([narrow.mayRemove('RoleAssignment', 'shop'), narrow.mayRemove('RoleAssignment', 'idp')]).toEqual([true, false])
})

test('--accept-empty removes what is outside the scope, of that kind only', async () => {
  await start({ crd: 'one' })
  const accepting = await start({ crd: 'one', scope: ['shop'], acceptEmpty: ['User'] })
  expect(removable(accepting, 'shop', 'idp')).toEqual([true, true])
  expect(accepting.mayRemove('Client', 'idp')).toBe(false)
})

test('after the scope was widened again, a deletion is one', async () => {
  await start({ crd: 'one' })
  await start({ crd: 'one', scope: ['shop'] })
  expect(removable(await start({ crd: 'one' }), 'shop', 'idp')).toEqual([true, true])
})

test('a namespace that is new in the scope has no former list', async () => {
  await start({ crd: 'one', scope: ['shop'] })
  expect(removable(await start({ crd: 'one', scope: ['shop', 'idp'] }), 'shop', 'idp')).toEqual([true, true])
})

test('a kind that was re-created while a namespace was not watched is re-created there when it is watched again', async () => {
  await start({ crd: 'one' })
  const narrow = await start({ crd: 'two', scope: ['shop'] })
  expect(removable(narrow, 'shop')).toEqual([false])
  // All rows of the namespace have their resource again.
  await narrow.record('User', 'two')
  expect(removable(narrow, 'shop')).toEqual([true])

  const wide = await start({ crd: 'two' })
  expect(removable(wide, 'shop', 'idp')).toEqual([true, false])
  expect(wide.areSame('User')).toBe(false)
  await wide.record('User', 'two')
  expect(removable(wide, 'shop', 'idp')).toEqual([true, true])
  const { rows } = await database.pool.query(`select namespace from resource_lists where kind = 'User'`)
  expect(rows).toEqual([{ namespace: '' }])
})

test('a kind that was re-created before the scope was widened is re-created in the former scope only', async () => {
  await start({ crd: 'one', scope: ['shop'] })
  const wide = await start({ crd: 'two' })
  expect(removable(wide, 'shop', 'idp')).toEqual([false, true])
  expect(wide.areSame('User')).toBe(false)
})

test('what an older version recorded without a scope holds for every namespace', async () => {
  await database.pool.query(`insert into resource_lists (kind, identity) values ('User', 'one')`)
  expect(removable(await start({ crd: 'two', scope: ['shop'] }), 'shop')).toEqual([false])
})
