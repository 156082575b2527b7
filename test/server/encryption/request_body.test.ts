import { describe, expect, test } from 'vitest'
import { readRequestBody } from '../../../server/encryption/request_body.ts'
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

test('one item, whatever else it holds', () => {
  const item = { field: 'dateOfBirth', value: 'x', more: [{ a: 1 }] }
  expect(readRequestBody(JSON.stringify(item))).toEqual({ batch: false, item })
})

test('a batch of 1 to 256 items', () => {
  expect(readRequestBody('{"items":[7]}')).toEqual({ batch: true, items: [7] })
  const body = readRequestBody(JSON.stringify({ items: Array.from({ length: 256 }, () => ({})) }))
  expect(body.batch && body.items.length).toBe(256)
})

describe('row 58: what is refused', () => {
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
    ['items beside field', '{"items":[{}],"field":"a"}'],
    ['items that are no list', '{"items":{"0":{}}}'],
    ['items null', '{"items":null}'],
    ['no items', '{"items":[]}'],
  ])('%s', ([, json]) => {
    expect(refusal(json)).toMatchObject({ status: 400, error: 'invalid_request' })
  })

  test('depth 8 is not too deep', () => {
    expect(readRequestBody(nested(8))).toMatchObject({ batch: false })
  })

  test('an error repeats nothing of the body', () => {
    expect(refusal('{"field":"a","value":canary}').description).not.toContain('canary')
    expect(refusal('{"canary":1,"canary":2}').description).not.toContain('canary')
  })
})

test('row 60: 257 items are too many, and the limit is told', () => {
  const error = refusal(JSON.stringify({ items: Array.from({ length: 257 }, () => ({})) }))
  expect(error).toMatchObject({ status: 413, error: 'batch_too_large' })
  expect(error.description).toContain('256')
})
