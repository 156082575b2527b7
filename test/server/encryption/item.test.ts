import { describe, expect, test } from 'vitest'
import { readEncryptedItem, readItemId, readPlainItem } from '../../../server/encryption/request_body.ts'

describe('row 59: a value to encrypt', () => {
  test.for(['', '\u0000', 'Zoë 李 𝄞 \u202e', 'x'.repeat(70_000)])('text is taken as it is (%#)', (value) => {
    expect(readPlainItem({ field: 'f', value })).toEqual({ field: 'f', value })
  })

  test.for(['', 'AA==', '+/+/', Buffer.alloc(100, 0xff).toString('base64')])('bytes in base64 (%s)', (valueBase64) => {
    expect(readPlainItem({ field: 'f', valueBase64 })).toEqual({
      field: 'f',
      value: Buffer.from(valueBase64, 'base64'),
    })
  })

  test.for<[string, Record<string, unknown>]>([
    ['no field', { value: 'x' }],
    ['a field that is no text', { field: 7, value: 'x' }],
    ['a field with a lone surrogate', { field: '\ud800', value: 'x' }],
    ['neither value nor bytes', { field: 'f' }],
    ['both', { field: 'f', value: 'x', valueBase64: 'eA==' }],
    ['both, one of them null', { field: 'f', value: null, valueBase64: 'eA==' }],
    ['a number', { field: 'f', value: 19900131 }],
    ['null', { field: 'f', value: null }],
    ['an object', { field: 'f', value: {} }],
    ['a lone surrogate', { field: 'f', value: 'a\ud800b' }],
    ['base64 without padding', { field: 'f', valueBase64: 'AA' }],
    ['base64url', { field: 'f', valueBase64: '-_-_' }],
    ['base64 with bits left over', { field: 'f', valueBase64: 'AB==' }],
    ['base64 with white space', { field: 'f', valueBase64: 'AA==\n' }],
    ['no base64', { field: 'f', valueBase64: '!' }],
  ])('%s is refused', ([, item]) => {
    expect(() => readPlainItem(item)).toThrow(expect.objectContaining({ status: 400, error: 'invalid_request' }))
  })
})

test('a ciphertext to decrypt is any text here', () => {
  expect(readEncryptedItem({ field: 'f', ciphertext: 'rk1:1:x', value: 1 })).toEqual({
    field: 'f',
    ciphertext: 'rk1:1:x',
  })
  for (const item of [
    { field: 'f' },
    { field: 'f', ciphertext: 1 },
    { ciphertext: 'x' },
    { field: 'f', ciphertext: '\udfff' },
  ]) {
    expect(() => readEncryptedItem(item)).toThrow(expect.objectContaining({ error: 'invalid_request' }))
  }
})

test('an id is told back, if it is a short text or an integer', () => {
  expect(readItemId({})).toEqual({})
  expect(readItemId({ id: 'row 7' })).toEqual({ id: 'row 7' })
  expect(readItemId({ id: 0 })).toEqual({ id: 0 })
  for (const id of [null, 1.5, {}, [], true, 'x'.repeat(256), '\ud800']) {
    expect(() => readItemId({ id })).toThrow(expect.objectContaining({ error: 'invalid_request' }))
  }
})
