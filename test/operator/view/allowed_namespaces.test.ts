import { expect, test } from 'vitest'
import { admitsNamespace, matchesSelector } from '../../../operator/view/allowed_namespaces.ts'
import type { RealmAllowedNamespaces, RealmNamespaceSelector } from '../../../crds/realm.gen.ts'

const NAME = 'kubernetes.io/metadata.name'
const NOT_BLUE: RealmNamespaceSelector = { matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['blue'] }] }
const selecting = (selector: RealmNamespaceSelector): RealmAllowedNamespaces => ({ from: 'Selector', selector })

type Labels = Record<string, string> | 'unknown' | undefined

test.each<[string, RealmAllowedNamespaces | undefined, string, Labels, boolean | 'unknown']>([
  ['its own namespace', { from: 'Same' }, 'home', {}, true],
  [
    'its own namespace, with any selector',
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
  ['one of unknown labels, by All', { from: 'All' }, 'team', 'unknown', true],
  ['one of unknown labels, by a label', selecting({ matchLabels: { a: 'b' } }), 'team', 'unknown', 'unknown'],
  ['one of unknown labels, by a label that it must not have', selecting(NOT_BLUE), 'team', 'unknown', 'unknown'],
  ['one of unknown labels, by its name', selecting({ matchLabels: { [NAME]: 'team' } }), 'team', 'unknown', true],
  ['one of unknown labels, by another name', selecting({ matchLabels: { [NAME]: 'x' } }), 'team', 'unknown', false],
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
