import { expect, test } from 'vitest'
import type { RoleAssignmentStatus } from '../../../crds/role_assignment.gen.ts'
import { nameKey, statusDecisions } from '../../../operator/role_assignment/status_decisions.ts'

const seen = { observedGeneration: 3, observedUID: 'uid' }
const approved = { type: 'Approved', status: 'True', reason: 'Needed', decidedBy: 'bob', ...seen } as const

test('entries and conditions are both decisions', () => {
  const status: RoleAssignmentStatus = {
    approvals: [{ approver: 'dave', decision: 'Denied', ...seen }],
    conditions: [approved, { type: 'Ready', status: 'False', reason: 'Denied' }],
  }
  expect(statusDecisions(status)).toEqual([
    { approver: 'dave', decision: 'Denied', form: 'entry', ...seen },
    { approver: 'bob', decision: 'Approved', form: 'condition', ...seen },
  ])
})

test('an absent status has no decisions', () => {
  expect(statusDecisions(undefined)).toEqual([])
  expect(statusDecisions({})).toEqual([])
})

test.each([
  ['row 106: is False', { ...approved, status: 'False' as const }],
  ['row 106: is Unknown', { ...approved, status: 'Unknown' as const }],
  ['row 106: has no reason', { ...approved, reason: '' }],
  ['has no decidedBy', { type: 'Approved', status: 'True' as const, reason: 'Needed', ...seen }],
  ['has an empty decidedBy', { ...approved, decidedBy: '' }],
  [
    'names no generation',
    { type: 'Approved', status: 'True' as const, reason: 'Needed', decidedBy: 'bob', observedUID: 'uid' },
  ],
  [
    'names no uid',
    { type: 'Approved', status: 'True' as const, reason: 'Needed', decidedBy: 'bob', observedGeneration: 3 },
  ],
  ['is of another type', { ...approved, type: 'approved' }],
])('a condition decides nothing when it %s', (_, condition) => {
  expect(statusDecisions({ conditions: [condition] })).toEqual([])
})

test('beyond sixteen entries only Denied counts', () => {
  const approvals = Array.from({ length: 20 }, (_, index) => ({
    approver: `approver-${index}`,
    decision: index === 19 ? ('Denied' as const) : ('Approved' as const),
    ...seen,
  }))
  const heard = statusDecisions({ approvals })
  expect(heard).toHaveLength(17)
  expect(heard.at(-1)).toMatchObject({ approver: 'approver-19', decision: 'Denied' })
})

test.each([
  ['bob', 'BOB'],
  ['straße@example.com', 'STRASSE@example.com'],
  ['ΟΔΟΣ', 'οδος'],
  ['οδοσ', 'οδος'],
])('%s and %s are one name', (one, other) => {
  expect(nameKey(one)).toBe(nameKey(other))
})

test('different names stay different', () => {
  expect(nameKey('bob')).not.toBe(nameKey('bob '))
  expect(nameKey('system:serviceaccount:a:bob')).not.toBe(nameKey('system:serviceaccount:b:bob'))
})
