import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startFieldServer } from '../../support/field_world.ts'
import type { FieldServer } from '../../support/field_world.ts'

let server: FieldServer
let alice: string
beforeAll(async () => {
  server = await startFieldServer({ config: { failedDecryptsPerSubject: 0 } })
  alice = await server.tokenOf('alice')
})
afterAll(() => server?.stop())

const many = <Item>(count: number, item: (at: number) => Item): Item[] =>
  Array.from({ length: count }, (_, at) => item(at))

test('256 items come back in order, through encrypt, rewrap and decrypt', async () => {
  const items = many(256, (at) => ({ id: at, field: at % 2 ? 'dateOfBirth' : 'diary', value: `value ${at}` }))
  const encrypted = await server.encrypt(alice, { items })
  expect(encrypted.status).toBe(200)
  expect(Object.keys(encrypted.body)).toEqual(['results'])
  expect(encrypted.body.results[1]).toEqual({
    id: 1,
    field: 'dateOfBirth',
    ciphertext: expect.stringMatching(/^rk1:1:/),
    keyVersion: 1,
  })
  const sealed = encrypted.body.results
  const rewrapped = await server.rewrap(alice, { items: sealed })
  expect(rewrapped.body.results).toEqual(sealed.map((item: object) => ({ ...item, rewrapped: false })))
  const decrypted = await server.decrypt(alice, { items: sealed })
  expect(decrypted.body.results).toEqual(items.map((item) => ({ ...item, keyVersion: 1, stale: false })))
})

test('the result carries the id as it was given; an id is optional', async () => {
  const items = [{ id: 'row 7' }, { id: 0 }, {}].map((id) => ({ ...id, field: 'dateOfBirth', value: 'x' }))
  const { body } = await server.encrypt(alice, { items })
  expect(body.results.map((result: { id?: unknown }) => result.id)).toEqual(['row 7', 0, undefined])
  expect(body.results[2]).not.toHaveProperty('id')
})

test('row 60: each kind of bad item is the error of that item alone', async () => {
  const good = { field: 'dateOfBirth', value: 'x' }
  const bad: [object | number | null, string][] = [
    [{ id: 'a', field: 'iban', value: 'x' }, 'insufficient_scope'],
    [{ id: 'b', field: 'unknown', value: 'x' }, 'insufficient_scope'],
    [{ id: 'c', field: 'dateOfBirth' }, 'invalid_request'],
    [{ id: 'd', field: 'dateOfBirth', value: 'x', valueBase64: '' }, 'invalid_request'],
    [{ id: 'e', field: 'code', value: '123456789' }, 'value_too_large'],
    [7, 'invalid_request'],
    [null, 'invalid_request'],
    [[good], 'invalid_request'],
    [{ ...good, id: {} }, 'invalid_request'],
  ]
  const { status, body } = await server.encrypt(alice, { items: [good, ...bad.map(([item]) => item), good] })
  expect(status).toBe(200)
  expect(body.results.map(({ error }: { error?: string }) => error)).toEqual([
    undefined,
    ...bad.map(([, error]) => error),
    undefined,
  ])
  expect(body.results.slice(1, 6).map(({ id }: { id: string }) => id)).toEqual(['a', 'b', 'c', 'd', 'e'])
  // As in a single request, an unknown field and a forbidden one get the same answer.
  const { id: _a, ...foreign } = body.results[1]
  const { id: _b, ...unknown } = body.results[2]
  expect(unknown).toEqual(foreign)
  for (const result of body.results.slice(1, -1)) expect(Object.keys(result)).not.toContain('ciphertext')
})

test('row 60: failed decrypts are errors of their items', async () => {
  const sealed = await server.sealed('dateOfBirth', '1990-01-31')
  const { status, body } = await server.decrypt(alice, {
    items: [
      { id: 1, field: 'dateOfBirth', ciphertext: sealed },
      { id: 2, field: 'dateOfBirth', ciphertext: 'garbage' },
      { id: 3, field: 'diary', ciphertext: sealed },
      { id: 4, field: 'dateOfBirth', ciphertext: sealed },
    ],
  })
  expect(status).toBe(200)
  expect(body.results).toEqual([
    { id: 1, field: 'dateOfBirth', value: '1990-01-31', keyVersion: 1, stale: false },
    { id: 2, error: 'invalid_ciphertext', error_description: expect.any(String) },
    { id: 3, error: 'decryption_failed', error_description: expect.any(String) },
    { id: 4, field: 'dateOfBirth', value: '1990-01-31', keyVersion: 1, stale: false },
  ])
})

describe('row 60: too many items', () => {
  test.for([257, 10_000])('%i: 413, and the error names the limit', async (count) => {
    const answer = await server.encrypt(alice, { items: many(count, () => ({ field: 'dateOfBirth', value: 'x' })) })
    expect([answer.status, answer.body.error]).toEqual([413, 'batch_too_large'])
    expect(answer.body.error_description).toContain('256')
  })

  test('too large a body: 413', async () => {
    const answer = await server.encrypt(alice, {
      items: many(256, () => ({ field: 'diary', value: 'x'.repeat(5000) })),
    })
    expect([answer.status, answer.body.error]).toEqual([413, 'request_too_large'])
  })
})

test('an error of the whole request is one answer', async () => {
  const items = [{ field: 'dateOfBirth', value: 'x' }]
  expect((await server.encrypt('garbage', { items })).status).toBe(401)
  expect((await server.encrypt(alice, '{"items":[{"field":"dateOfBirth","value":"x","value":"y"}]}')).status).toBe(400)
})
