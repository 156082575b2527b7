import { expect, test } from 'vitest'
import { alwaysNeedsDecision, expandRoles } from '../../../operator/realm/expand_roles.ts'

const roles = [
  { name: 'manager', composites: ['editor', 'viewer'] },
  { name: 'editor', composites: ['viewer'] },
  { name: 'viewer' },
  { name: 'ping', composites: ['pong'] },
  { name: 'pong', composites: ['ping'] },
  { name: 'narcissus', composites: ['narcissus'] },
  { name: 'hopeful', composites: ['not-there'] },
  { name: 'climber', composites: ['svc-realm-admin', '_svc_dob.selfdecrypt'] },
  { name: 'constructor', composites: ['__proto__'] },
  { name: '_svc_smuggled.selfdecrypt' },
  { name: 'default-roles-acme' },
]
const defined = { roles, fieldRoles: ['_svc_dob.selfencrypt', '_svc_dob.selfdecrypt'] }

test.each([
  { title: 'a role without composites is itself', listed: ['viewer'], gives: ['viewer'] },
  { title: 'composites are followed to the end', listed: ['manager'], gives: ['editor', 'manager', 'viewer'] },
  { title: 'a role listed twice counts once', listed: ['viewer', 'viewer'], gives: ['viewer'] },
  { title: 'a ring is walked once', listed: ['ping'], gives: ['ping', 'pong'] },
  { title: 'a role may hold itself', listed: ['narcissus'], gives: ['narcissus'] },
  { title: 'a composite that is not defined gives nothing', listed: ['hopeful'], gives: ['hopeful'] },
  { title: 'reserved roles cannot come as composites', listed: ['climber'], gives: ['climber'] },
  { title: 'every realm has svc-realm-admin', listed: ['svc-realm-admin'], gives: ['svc-realm-admin'] },
  { title: 'a field brings its roles', listed: ['_svc_dob.selfdecrypt'], gives: ['_svc_dob.selfdecrypt'] },
  { title: 'names of prototypes are names', listed: ['constructor'], gives: ['constructor'] },
])('$title', ({ listed, gives }) => {
  expect(expandRoles(listed, defined)).toEqual({ roles: gives, unknown: [] })
})

test.each([
  ['of no role', 'unknown'],
  ['in other letters', 'Viewer'],
  ['of a field that there is not', '_svc_iban.selfdecrypt'],
  ['reserved, although the realm tries to define it', '_svc_smuggled.selfdecrypt'],
  ['of the default group', 'default-roles-acme'],
  ['of a prototype', '__proto__'],
  ['empty', ''],
])('a name %s is unknown, and the others are still expanded', (_, role) => {
  expect(expandRoles([role, 'viewer'], defined)).toEqual({ roles: ['viewer'], unknown: [role] })
})

test.each([
  ['svc-realm-admin', true],
  ['_svc_dob.selfencrypt', true],
  ['_svc_whatever', true],
  ['viewer', false],
  ['svc-realm-administrator', false],
])('%s always needs a decision: %s', (role, expected) => {
  expect(alwaysNeedsDecision(role)).toBe(expected)
})
