import { expect, test } from 'vitest'
import { parseStrictJson, parseStrictJsonBytes } from '../../keyring/strict_parsing.ts'

const accepted = [
  '{}',
  '[]',
  '0',
  '"a"',
  '{"a":{"a":[{"a":1},{"a":2}]},"b":"\\"a\\":1,{"}',
  ' { "a" : [ "a" , "a" ] , "b" : { } } ',
  '{"a":"\\\\","b":"\\u0022,\\"c\\":"}',
  '{"__proto":1,"constructor":2,"":3}',
]

test.each(accepted)('reads %s as JSON.parse does', (text) => {
  expect(parseStrictJson(text, 5)).toEqual(JSON.parse(text))
})

const refused: [string, string][] = [
  ['', 'not valid JSON'],
  ['{"a":1,}', 'not valid JSON'],
  ['{"a":1,"a":1}', 'twice'],
  ['{"a":1,"b":{},"a":2}', 'twice'],
  ['{"a":1,"\\u0061":2}', 'twice'],
  ['[{"b":[1,{"x":1,"y":[],"x":2}]}]', 'twice'],
  ['{"__proto__":{}}', '__proto__'],
  ['{"a":[{"\\u005f_proto__":1}]}', '__proto__'],
  ['[[[[[[1]]]]]]', 'deeper than 5'],
  [`${'['.repeat(10_000)}${']'.repeat(10_000)}`, 'deeper than 5'],
]

test.each(refused)('refuses %.40s', (text, reason) => {
  expect(() => parseStrictJson(text, 5)).toThrow(reason)
})

test('says nothing of the text it refuses', () => {
  const secret = 'canary-3f9a'
  for (const text of [`{"${secret}":1,"${secret}":2}`, `{"a":${secret}}`, `"${secret}`]) {
    expect(() => parseStrictJson(text, 5)).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining(secret) }),
    )
  }
})

test('refuses bytes that are not UTF-8, and a byte order mark', () => {
  expect(() => parseStrictJsonBytes(Buffer.from([0x22, 0xff, 0x22]), 5)).toThrow('UTF-8')
  expect(() => parseStrictJsonBytes(Buffer.from('\ufeff{}'), 5)).toThrow('not valid JSON')
  expect(parseStrictJsonBytes(Buffer.from('{"ž":1}'), 5)).toEqual({ ž: 1 })
})

test('refuses more values than allowed before it parses them, and counts none in texts', () => {
  expect(parseStrictJson('{"a":[1,2],"b":",,,[[{{"}', 5, 4)).toEqual({ a: [1, 2], b: ',,,[[{{' })
  for (const text of ['{"a":[1,2],"b":3}', '[1,2,3,4', '[[[[', '{"a\\",":1,"b":[{}', '[,,,"']) {
    expect(() => parseStrictJson(text, 5, 3)).toThrow(/^more than 3 values$/)
  }
  for (const text of ['"', '"\\', '["a']) expect(() => parseStrictJson(text, 5, 3)).toThrow('not valid JSON')
})
