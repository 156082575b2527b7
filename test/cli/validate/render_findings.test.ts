import { expect, test } from 'vitest'
import type { Finding } from '../../../cli/validate/finding.ts'
import { renderFindings } from '../../../cli/validate/finding.ts'

const error: Finding = {
  file: 'a.yaml',
  line: 3,
  column: 5,
  severity: 'error',
  object: 'Realm team/shop',
  field: 'spec.enabled',
  message: 'must be a boolean',
}
const note: Finding = { file: 'b.yaml', line: 1, column: 1, severity: 'note', message: 'nothing here' }

test('as text: a line for each, and a count that says what was not checked', () => {
  expect(renderFindings([error, note])).toBe(
    [
      'a.yaml:3:5: error: Realm team/shop: spec.enabled: must be a boolean',
      'b.yaml:1:1: note: nothing here',
      '1 error, 1 note; rules that compare with the stored object (what is immutable) are checked when it is applied',
      '',
    ].join('\n'),
  )
})

test('as text without findings', () => {
  expect(renderFindings([])).toMatch(/^0 errors, 0 notes; /)
})

test('as JSON', () => {
  const parsed: unknown = JSON.parse(renderFindings([error, note], 'json'))
  expect(parsed).toEqual({ findings: [error, note], notChecked: [expect.stringContaining('immutable')] })
})

test('control characters and those that turn the direction of text are replaced', () => {
  const text = renderFindings([{ ...note, message: 'a\u001b[31mb\u202ec\nd' }])
  expect(text).toContain('a\ufffd[31mb\ufffdc\ufffdd')
})
