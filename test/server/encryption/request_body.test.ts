import { describe, expect, test } from 'vitest'
import {
  readEncryptedItem,
  readItemId,
  readPlainItem,
  readRequestBody,
} from '../../../server/encryption/request_body.ts'
import { OAuthError } from '../../../server/http/oauth_error.ts'

function refusal(json: string | undefined): OAuthError {
  try {
    readRequestBody(json)
  } catch (error) {
    if (error instanceof OAuthError) return error
    throw error
  }
  throw new Error('nothing was refused')
}

test('one item, with unknown members', () => {
  const item = { field: 'dateOfBirth', value: 'x', more: [{ a: 1 }] }
  expect(readRequestBody(JSON.stringify(item))).toEqual({ batch: false, item })
})

test('a batch of 1 to 256 items', () => {
  expect(readRequestBody('{"items":[7]}')).toEqual({ batch: true, items: [7] })
  const body = readRequestBody(JSON.stringify({ items: Array.from({ length: 256 }, () => ({})) }))
  expect(body.batch && body.items.length).toBe(256)
})

describe('row 58: refused bodies', () => {
  const nested = (depth: number) => `{"field":"f","x":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
  test.for<[string, string | undefined]>([
    ['no body', undefined],
    ['an empty body', ''],
    ['no JSON', 'field=dateOfBirth'],
    ['JSON and more', '{} {}'],
    ['a byte order mark', '\ufeff{}'],
    ['null', 'null'],
    ['a number', '1'],
    ['a text', '"field"'],
    ['a list', '[{"field":"f"}]'],
    ['a member twice', '{"field":"a","field":"b","value":"x"}'],
    ['a member twice, once escaped', '{"field":"a","\\u0066ield":"b","value":"x"}'],
    ['a member of an item twice', '{"items":[{"field":"a","value":"x","value":"y"}]}'],
    ['__proto__', '{"field":"a","value":"x","__proto__":{"admin":true}}'],
    ['__proto__, escaped', '{"field":"a","value":"x","\\u005f_proto__":{}}'],
    ['__proto__ within an ignored member', '{"field":"a","value":"x","more":{"__proto__":1}}'],
    ['depth 9', nested(9)],
    ['depth 10,000', nested(10_000)],
    ['a list of 100,000 numbers', `{"field":"f","value":"x","x":[${'1,'.repeat(100_000)}1]}`],
    ['100,000 members', `{${Array.from({ length: 100_000 }, (_, at) => `"${at}":1`).join(',')}}`],
    ['items and field', '{"items":[{}],"field":"a"}'],
    ['items that are no list', '{"items":{"0":{}}}'],
    ['items null', '{"items":null}'],
    ['no items', '{"items":[]}'],
  ])('%s', ([, json]) => {
    expect(refusal(json)).toMatchObject({ status: 400, error: 'invalid_request' })
  })

  test('a value of a million commas is one value', () => {
    const item = { field: 'f', value: ','.repeat(1_000_000) }
    expect(readRequestBody(JSON.stringify(item))).toEqual({ batch: false, item })
  })

  test('depth 8 is not too deep', () => {
    expect(readRequestBody(nested(8))).toMatchObject({ batch: false })
  })

  test('an error repeats nothing of the body', () => {
    expect(refusal('{"field":"a","value":canary}').description).not.toContain('canary')
    expect(refusal('{"canary":1,"canary":2}').description).not.toContain('canary')
  })
})

test('row 60: 257 items are too many, and the error names the limit', () => {
  const error = refusal(JSON.stringify({ items: Array.from({ length: 257 }, () => ({})) }))
  expect(error).toMatchObject({ status: 413, error: 'batch_too_large' })
  expect(error.description).toContain('256')
})

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

test('the result carries an id that is a short text or an integer', () => {
  expect(readItemId({})).toEqual({})
  expect(readItemId({ id: 'row 7' })).toEqual({ id: 'row 7' })
  expect(readItemId({ id: 0 })).toEqual({ id: 0 })
  for (const id of [null, 1.5, {}, [], true, 'x'.repeat(256), '\ud800']) {
    expect(() => readItemId({ id })).toThrow(expect.objectContaining({ error: 'invalid_request' }))
  }
})
