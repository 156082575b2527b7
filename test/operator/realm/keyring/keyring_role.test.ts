import { expect, test } from 'vitest'
import { rulesFor } from '../../../../operator/realm/keyring/keyring_role.ts'

test('without names there is no rule, because a rule without names is the right to every Secret', () => {
  expect(rulesFor([])).toEqual([])
  expect(rulesFor(['b', 'a'])).toEqual([
    { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'watch'], resourceNames: ['a', 'b'] },
  ])
})
