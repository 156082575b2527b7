import { describe, expect, test } from 'vitest'
import { evaluateSchemaRules } from '../../crds/validation/cel.ts'
import type { StructuralSchema } from '../../crds/schemas.ts'

/** Whether one rule on `spec` holds, or the reason why it was not evaluated. */
function evaluate(rule: string, spec: unknown, properties: Record<string, StructuralSchema>, old?: unknown) {
  const schema = { type: 'object', properties, 'x-kubernetes-validations': [{ rule, message: 'broken' }] }
  const { problems, unevaluated } = evaluateSchemaRules(schema, spec, old)
  if (unevaluated.length > 0) return unevaluated[0]!.why
  return problems.length === 0
}

const text = { type: 'string' }
const integer = { type: 'integer' }
const texts = { type: 'array', items: text }
const integers = { type: 'array', items: integer }

describe('functions that Kubernetes adds to CEL', () => {
  test.each([
    ["self.url == '' || isURL(self.url)", { url: 'https://a.example/x' }, true],
    ['isURL(self.url)', { url: 'no url' }, false],
    ["url(self.url).getHost() == 'a.example:8443'", { url: 'https://a.example:8443/x' }, true],
    ["url(self.url).getHostname() == 'a.example'", { url: 'https://a.example:8443/x' }, true],
    ["url(self.url).getScheme() == 'https'", { url: 'https://a.example/x' }, true],
    ["url(self.url).getPort() == '8443'", { url: 'https://a.example:8443/x' }, true],
    ["url(self.url).getEscapedPath() == '/x'", { url: 'https://a.example/x?y' }, true],
    ["self.url.find('[0-9]+') == '42'", { url: 'a42b7' }, true],
    ["self.url.find('[0-9]+') == ''", { url: 'ab' }, true],
    ["self.url.matches('^a+$')", { url: 'aaa' }, true],
    ["self.url.lowerAscii() == 'abc'", { url: 'aBC' }, true],
  ])('%s', (rule, spec, expected) => {
    expect(evaluate(rule, spec, { url: text })).toBe(expected)
  })

  test.each([
    ["self.list.indexOf('b') == 1", ['a', 'b'], texts, true],
    ["self.list.indexOf('c') == -1", ['a', 'b'], texts, true],
    ['self.list.indexOf(2) == 1', [1, 2], integers, true],
    ['self.list.isSorted()', ['a', 'b', 'b'], texts, true],
    ['self.list.isSorted()', [2, 1], integers, false],
    ['self.list.sum() == 6', [1, 2, 3], integers, true],
    ['self.list.sum() == 0', [], integers, true],
  ])('%s of %j', (rule, list, schema, expected) => {
    expect(evaluate(rule, { list }, { list: schema })).toBe(expected)
  })
})

test('integers are compared and divided as integers, times as times', () => {
  expect(evaluate('self.n / 2 == 2', { n: 5 }, { n: integer })).toBe(true)
  const time = { type: 'string', format: 'date-time' }
  expect(evaluate("self.at < timestamp('2030-01-01T00:00:00Z')", { at: '2029-12-31T23:59:59Z' }, { at: time })).toBe(
    true,
  )
})

test('a rule with an unknown function is reported as unevaluated', () => {
  const schema = { 'x-kubernetes-validations': [{ rule: 'self.noSuchFunction()', message: 'broken' }] }
  const { problems, unevaluated } = evaluateSchemaRules(schema, 'x')
  expect(problems).toEqual([])
  expect(unevaluated).toEqual([{ path: [], rule: 'self.noSuchFunction()', why: expect.stringContaining('overload') }])
})

test('a rule that is not CEL is reported as unevaluated', () => {
  const { problems, unevaluated } = evaluateSchemaRules({ 'x-kubernetes-validations': [{ rule: 'self ==' }] }, 'x')
  expect(problems).toEqual([])
  expect(unevaluated).toHaveLength(1)
})

test('a rule that reads a missing field fails, as on an API server', () => {
  expect(evaluate("self.a == 'x'", {}, { a: text })).toBe(false)
})

describe('rules about the former object', () => {
  const schema: StructuralSchema = {
    properties: {
      name: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'immutable' }] },
      fields: {
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['key'],
        items: { 'x-kubernetes-validations': [{ rule: 'self.value == oldSelf.value', message: 'immutable' }] },
      },
      words: { items: { 'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'immutable' }] } },
    },
  }
  const stored = {
    name: 'a',
    fields: [
      { key: 'x', value: 1 },
      { key: 'y', value: 2 },
    ],
    words: ['a'],
  }

  test.each([
    ['on a create nothing is compared', { name: 'b' }, undefined, []],
    ['the same again', stored, stored, []],
    ['another value', { ...stored, name: 'b' }, stored, [['name']]],
    ['a value that was absent', { name: 'b' }, {}, []],
    [
      'items of a map are found by key',
      {
        fields: [
          { key: 'y', value: 2 },
          { key: 'x', value: 3 },
        ],
      },
      stored,
      [['fields', 1]],
    ],
    ['items of another list have no former value', { words: ['b'] }, stored, []],
  ])('%s', (_, object, old, paths) => {
    expect(evaluateSchemaRules(schema, object, old).problems.map(({ path }) => path)).toEqual(paths)
  })
})
