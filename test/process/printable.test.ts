import { expect, test } from 'vitest'
import { count, names, printable, sentence } from '../../process/printable.ts'

test.each([
  ['row 127: a line end', 'a\nReady=True', 'a\uFFFDReady=True'],
  ['row 127: an ANSI escape', '\u001B[2Jgone', '\uFFFD[2Jgone'],
  ['row 127: a change of direction', 'a\u202Eb', 'a\uFFFDb'],
  ['row 127: an invisible letter', 'a\u200Bb', 'a\uFFFDb'],
  ['row 127: a line separator', 'a\u2028b', 'a\uFFFDb'],
  ['row 127: half a letter', 'a\uD800b', 'a\uFFFDb'],
  ['row 127: a NUL and a C1 control', '\u0000\u009B', '\uFFFD\uFFFD'],
])('%s does not reach a message', (_, text, shown) => {
  expect(printable(text)).toBe(shown)
})

test('what people write stays', () => {
  expect(printable('Zoë 王 🙂 <bob@example.com>')).toBe('Zoë 王 🙂 <bob@example.com>')
})

test('row 127: 32 KB become 80 characters, and no character is cut in half', () => {
  expect(printable('x'.repeat(32_768))).toBe(`${'x'.repeat(79)}…`)
  expect(printable('🙂'.repeat(200))).toBe(`${'🙂'.repeat(79)}…`)
  expect(printable('x'.repeat(80))).toBe('x'.repeat(80))
})

test('a long list is counted', () => {
  expect(names(['a', 'b'])).toBe('a, b')
  expect(names(Array.from({ length: 11 }, (_, index) => `r${index}`))).toBe('r0, r1, r2, r3, r4, r5, r6, r7 and 3 more')
})

test('a message is one bounded line of its non-empty parts', () => {
  expect(sentence('one', false, undefined, '', 'two')).toBe('one; two')
  expect(sentence('x'.repeat(5_000))).toHaveLength(1_000)
  expect(count(1, 'approval')).toBe('1 approval')
  expect(count(2, 'approval')).toBe('2 approvals')
})
