import { expect, test } from 'vitest'
import { isRfc3339 } from '../../crds/validation/schema_problems.ts'

// The validation code of Kubernetes 1.36 gives the same results.
test.each([
  ['2030-01-01T00:00:00Z', true],
  ['2030-01-01t00:00:00z', true],
  ['2030-01-01T00:00:00.123456789Z', true],
  ['2030-01-01T00:00:00+02:00', true],
  ['2028-02-29T23:59:59-11:30', true],
  ['2030-02-29T00:00:00Z', false],
  ['2030-04-31T00:00:00Z', false],
  ['2030-13-01T00:00:00Z', false],
  ['2030-01-00T00:00:00Z', false],
  ['2030-01-01T24:00:00Z', false],
  ['2030-12-31T23:59:60Z', false],
  ['2030-01-01T00:60:00Z', false],
  ['2030-01-01 00:00:00Z', false],
  ['2030-01-01T00:00:00+0200', false],
  ['2030-01-01T00:00:00', false],
  ['2030-01-01T00:00Z', false],
  ['2030-1-1T00:00:00Z', false],
  ['2030-01-01', false],
  ['', false],
])('%s', (text, expected) => {
  expect(isRfc3339(text)).toBe(expected)
})
