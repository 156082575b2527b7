import { expect, test } from 'vitest'
import { admitsNamespace, matchesSelector } from '../../operator/allowed_namespaces.ts'
import type { RealmAllowedNamespaces, RealmNamespaceSelector } from '../../crds/realm.gen.ts'

test.each<[string, RealmAllowedNamespaces | undefined, string, Record<string, string> | undefined, boolean]>([
  ['its own namespace', { from: 'Same' }, 'home', {}, true],
  [
    'its own namespace, whatever a selector says',
    { from: 'Selector', selector: { matchLabels: { a: 'b' } } },
    'home',
    {},
    true,
  ],
  ['another namespace by default', undefined, 'team', {}, false],
  ['another namespace with Same', { from: 'Same' }, 'team', {}, false],
  ['any namespace with All', { from: 'All' }, 'team', undefined, true],
  ['a selected namespace', { from: 'Selector', selector: { matchLabels: { a: 'b' } } }, 'team', { a: 'b' }, true],
  ['one that is not selected', { from: 'Selector', selector: { matchLabels: { a: 'b' } } }, 'team', { a: 'c' }, false],
  ['one that does not exist', { from: 'Selector', selector: {} }, 'team', undefined, false],
  ['one with Selector and no selector', { from: 'Selector' }, 'team', { a: 'b' }, false],
])('a Realm admits %s: %#', (_what, allowed, namespace, labels, admitted) => {
  expect(admitsNamespace(allowed, 'home', namespace, labels)).toBe(admitted)
})

test.each<[string, RealmNamespaceSelector, Record<string, string>, boolean]>([
  ['an empty selector', {}, { a: 'b' }, true],
  [
    'labels and expressions together',
    { matchLabels: { a: 'b' }, matchExpressions: [{ key: 'c', operator: 'Exists' }] },
    { a: 'b' },
    false,
  ],
  ['In with the value', { matchExpressions: [{ key: 'a', operator: 'In', values: ['b', 'c'] }] }, { a: 'c' }, true],
  ['In with another value', { matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] }, { a: 'c' }, false],
  ['In without the label', { matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] }, {}, false],
  ['NotIn with the value', { matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['b'] }] }, { a: 'b' }, false],
  ['NotIn without the label', { matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['b'] }] }, {}, true],
  ['Exists', { matchExpressions: [{ key: 'a', operator: 'Exists' }] }, { a: '' }, true],
  ['DoesNotExist', { matchExpressions: [{ key: 'a', operator: 'DoesNotExist' }] }, { a: '' }, false],
  ['a name of every object', { matchLabels: { constructor: 'x' } }, {}, false],
  [
    'a name of every object that is not there',
    { matchExpressions: [{ key: 'toString', operator: 'DoesNotExist' }] },
    {},
    true,
  ],
])('a selector: %s', (_what, selector, labels, matches) => {
  expect(matchesSelector(selector, labels)).toBe(matches)
})
