import { expect, test } from 'vitest'
import { relationIndex } from '../../../operator/view/relation_index.ts'
import type { ResourceKey } from '../../../operator/source/resource.ts'

const key = (name: string): ResourceKey => ({ kind: 'User', namespace: 'default', name })
const names = (keys: ResourceKey[]): string[] => keys.map(({ name }) => name).toSorted()

test('finds the users and the holders of a name, while resources appear, change and go', () => {
  const index = relationIndex()
  expect(index.update(key('a'), { is: ['user a', 'alice'], uses: ['realm', 'alice'] })).toEqual(['user a', 'alice'])
  index.update(key('b'), { is: ['user b', 'alice'], uses: ['realm', 'alice'] })
  index.update(key('c'), { is: ['user c'], uses: ['realm', 'realm', 'secret'] })
  expect(names(index.usersOf(['realm']))).toEqual(['a', 'b', 'c'])
  expect(names(index.usersOf(['alice', 'realm', 'secret']))).toEqual(['a', 'b', 'c'])
  expect(names(index.holdersOf('alice'))).toEqual(['a', 'b'])
  expect(names(index.usersOf(['secret']))).toEqual(['c'])

  // The result has the former and the present names: the users of both must be enqueued.
  expect(index.update(key('a'), { is: ['user a', 'bob'], uses: ['realm'] }).toSorted()).toEqual([
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
