import { expect, test } from 'vitest'
import { earlier, isOver, millis, secondsAfter } from '../../../operator/role_assignment/time.ts'

const NOON = '2026-01-01T12:00:00Z'

test('seconds are added, but no date beyond what can be written', () => {
  expect(secondsAfter(NOON, 90)).toBe('2026-01-01T12:01:30.000Z')
  expect(secondsAfter(NOON, Number.MAX_SAFE_INTEGER)).toBe('9999-12-31T23:59:59.999Z')
})

test('what cannot be read as a time is over', () => {
  expect(millis('soon')).toBe(0)
  expect(millis('2026-06-30T23:59:60Z')).toBe(0)
  expect(isOver('soon', new Date(NOON))).toBe(true)
})

test.each([
  ['never is not over', undefined, false],
  ['a moment later', '2026-01-01T12:00:00.001Z', false],
  ['this moment', '2026-01-01T13:00:00+01:00', true],
  ['a moment before', '2026-01-01T11:59:59.999Z', true],
])('%s', (_, end, over) => {
  expect(isOver(end, new Date(NOON))).toBe(over)
})

test('the earlier end counts, and never is later than any', () => {
  expect(earlier(undefined, undefined)).toBeUndefined()
  expect(earlier(NOON, undefined)).toBe(NOON)
  expect(earlier(undefined, NOON)).toBe(NOON)
  expect(earlier('2026-01-01T12:30:00+01:00', NOON)).toBe('2026-01-01T12:30:00+01:00')
})
