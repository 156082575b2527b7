import { expect, test } from 'vitest'
import { relationIndex } from '../../../operator/view/relation_index.ts'
import type { Relations } from '../../../operator/view/relations.ts'
import type { ResourceKey } from '../../../operator/source/resource.ts'

const key = (name: string): ResourceKey => ({ kind: 'User', namespace: 'default', name })
const names = (keys: ResourceKey[]): string[] => keys.map(({ name }) => name).toSorted()

const resource = (uid: string, relations: Partial<Relations>, age = uid) => ({
  is: [],
  claims: [],
  uses: [],
  ...relations,
  uid,
  age,
})

test('finds the users and the holders of a name, while resources appear, change and go', () => {
  const index = relationIndex()
  expect(index.update(key('a'), resource('a', { is: ['user a', 'alice'], uses: ['realm', 'alice'] }))).toEqual([
    'user a',
    'alice',
  ])
  index.update(key('b'), resource('b', { is: ['user b', 'alice'], uses: ['realm', 'alice'] }))
  index.update(key('c'), resource('c', { is: ['user c'], uses: ['realm', 'realm', 'secret'] }))
  expect(names(index.usersOf(['realm']))).toEqual(['a', 'b', 'c'])
  expect(names(index.usersOf(['alice', 'realm', 'secret']))).toEqual(['a', 'b', 'c'])
  expect(names(index.holdersOf('alice'))).toEqual(['a', 'b'])
  expect(names(index.usersOf(['secret']))).toEqual(['c'])

  // The result has the former and the present names: the users of both must be enqueued.
  expect(index.update(key('a'), resource('a', { is: ['user a', 'bob'], uses: ['realm'] })).toSorted()).toEqual([
    'alice',
    'bob',
    'user a',
  ])
  expect(names(index.holdersOf('alice'))).toEqual(['b'])
  expect(names(index.usersOf(['alice']))).toEqual(['b'])
  expect(index.namesOf(key('a'))).toEqual(['user a', 'bob'])

  expect(index.update(key('b'), undefined)).toEqual(['user b', 'alice'])
  expect(index.update(key('b'), undefined)).toEqual([])
  expect(index.holdersOf('alice')).toEqual([])
  expect(names(index.usersOf(['realm']))).toEqual(['a', 'c'])
  index.update(key('a'), undefined)
  index.update(key('c'), undefined)
  expect(index.usersOf(['realm', 'secret', 'alice', 'bob'])).toEqual([])
})

test('keeps the claimants of a name in the order of their age', () => {
  const index = relationIndex()
  const claims = ['alice']
  for (const uid of ['c', 'a', 'd', 'b']) index.update(key(uid), resource(uid, { claims }))
  const uids = (): string[] => index.claimantsOf('alice').map(({ uid }) => uid)
  expect(uids()).toEqual(['a', 'b', 'c', 'd'])
  expect(names(index.holdersOf('alice'))).toEqual(['a', 'b', 'c', 'd'])
  expect(index.usersOf(['alice'])).toEqual([])

  index.update(key('b'), undefined)
  // Another object of the same name is younger.
  expect(index.update(key('a'), resource('new a', { claims }, 'e'))).toEqual(['alice'])
  expect(uids()).toEqual(['c', 'd', 'new a'])
  for (const uid of ['a', 'c', 'd']) index.update(key(uid), undefined)
  expect(uids()).toEqual([])
})
