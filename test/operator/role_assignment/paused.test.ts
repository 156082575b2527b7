import { expect, test } from 'vitest'
import { approve, deny, edit, pass, reconcile, world } from './world.ts'
import type { World } from './world.ts'

// A requester can annotate a RoleAssignment. A pause must hold back what is new, and keep nothing that ends.

const rolesOf = (seen: World): string[] => reconcile(seen).roles.map(({ role }) => role)

function granted(): World {
  const seen = world()
  reconcile(seen)
  approve(seen, 'bob')
  reconcile(seen)
  seen.assignment.paused = true
  return seen
}

test('an approved request is granted when the pause ends', () => {
  const seen = world()
  seen.assignment.paused = true
  reconcile(seen)
  approve(seen, 'bob')
  const { ready, roles, newDecisions } = reconcile(seen)
  expect(roles).toEqual([])
  expect(newDecisions).toHaveLength(1)
  expect(ready).toMatchObject({ status: 'False', reason: 'Paused' })
  expect(ready.message).toContain('nothing new is granted while it is paused')

  seen.assignment.paused = false
  expect(rolesOf(seen)).toEqual(['editor', 'manager', 'viewer'])
})

test('without governance nothing is granted either', () => {
  const seen = world()
  seen.realm.governance = { enabled: false, requiredApprovals: 1 }
  seen.assignment.paused = true
  expect(reconcile(seen)).toMatchObject({ roles: [], ready: { reason: 'Paused' } })
  seen.assignment.paused = false
  expect(rolesOf(seen)).toEqual(['editor', 'manager', 'viewer'])
})

test('a grant stays as it is', () => {
  expect(rolesOf(granted())).toEqual(['editor', 'manager', 'viewer'])
})

test.each<[string, (seen: World) => void, string[]]>([
  ['a denial', (seen) => deny(seen, 'dan'), []],
  ['a denial before an edit', (seen) => (deny(seen, 'dan'), edit(seen, {})), []],
  ['a deletion', (seen) => void (seen.assignment.deleting = true), []],
  ['a role removed from the spec', (seen) => edit(seen, { roles: ['viewer'] }), ['viewer']],
  [
    'a role removed from the realm',
    (seen) => void (seen.realm = { ...seen.realm, roles: [{ name: 'manager' }] }),
    ['manager'],
  ],
  ['an expiry', (seen) => (edit(seen, { expiresAt: '2026-01-01T01:00:00Z' }), reconcile(seen), pass(seen, 7_200)), []],
  ['a removed User', (seen) => void (seen.user = undefined), []],
  ['a User of another uid', (seen) => void (seen.user = { uid: 'other', sub: 'other', realmUid: 'realm-1' }), []],
])('%s takes the roles away, and the end of the pause does not bring them back', (_, change, left) => {
  const seen = granted()
  change(seen)
  expect(rolesOf(seen)).toEqual(left)
  seen.assignment.paused = false
  const after = rolesOf(seen)
  expect(after.filter((role) => !left.includes(role))).toEqual([])
})
