import { describe, expect, test } from 'vitest'
import { isObject } from '../../crds/validation/defaulting.ts'
import { evaluateRules } from '../../crds/validation/cel.ts'
import { pathText } from '../../crds/validation/problem.ts'
import { kindSchema } from '../../crds/schemas.ts'
import type { StructuralSchema } from '../../crds/schemas.ts'
import { defaultAndValidate } from '../../crds/validation/validation.ts'
import { clientCases } from './cases/client_cases.ts'
import type { Written } from './cases/case.ts'
import { realmCases } from './cases/realm_cases.ts'
import { roleAssignmentCases } from './cases/role_assignment_cases.ts'
import { userCases } from './cases/user_cases.ts'

const KINDS = [realmCases, clientCases, userCases, roleAssignmentCases]

/** The problems of a write: the schema first, then the rules, as on an API server. */
function problemsOf(kind: string, object: unknown, stored?: unknown): string[] {
  const { value, problems } = defaultAndValidate(kind, object)
  const rules = problems.length > 0 ? { problems: [], unevaluated: [] } : evaluateRules(kind, value, stored)
  expect(rules.unevaluated).toEqual([])
  return [...problems, ...rules.problems].map(({ path, message }) => `${pathText(path)}: ${message}`)
}

function changed(object: Written, change: (object: Written) => unknown): Written {
  change(object)
  return object
}

describe.each(KINDS)('$kind', ({ kind, valid, smallest, alsoValid, invalid, updates }) => {
  test('the smallest object is valid', () => {
    expect(problemsOf(kind, smallest())).toEqual([])
  })

  test('an object with every field is valid', () => {
    expect(problemsOf(kind, valid())).toEqual([])
    expect(unusedFields(kindSchema(kind)!.schema, valid())).toEqual([])
  })

  test.each(alsoValid)('$name is valid', ({ change }) => {
    expect(problemsOf(kind, changed(valid(), change))).toEqual([])
  })

  test.each(invalid)('$name is refused', ({ breakIt, path, message, more }) => {
    const problems = problemsOf(kind, changed(valid(), breakIt))
    expect(problems).toHaveLength(more ? 2 : 1)
    expect(problems[0]!.slice(0, path.length + 2)).toBe(`${path}: `)
    expect(problems[0]!.slice(path.length + 2)).toMatch(message)
  })

  test.each(updates)('$name, on an update', ({ stored, written, path, message }) => {
    const before = defaultAndValidate(kind, changed(valid(), stored))
    expect(before.problems).toEqual([])
    const problems = problemsOf(kind, changed(valid(), written), before.value)
    if (path === undefined) {
      expect(problems).toEqual([])
    } else {
      expect(problems).toHaveLength(1)
      expect(problems[0]).toMatch(message!)
      expect(problems[0]!.startsWith(`${path}: `)).toBe(true)
    }
  })

  test('each CEL rule is broken by a case', () => {
    const broken = new Set<string>()
    for (const { breakIt } of invalid) collectMessages(kind, changed(valid(), breakIt), undefined, broken)
    for (const { stored, written } of updates) {
      const before = defaultAndValidate(kind, changed(valid(), stored)).value
      collectMessages(kind, changed(valid(), written), before, broken)
    }
    expect(ruleMessages(kindSchema(kind)!.schema).filter((message) => !broken.has(message))).toEqual([])
  })
})

function collectMessages(kind: string, object: unknown, stored: unknown, messages: Set<string>): void {
  const { value, problems } = defaultAndValidate(kind, object)
  if (problems.length > 0) return
  for (const { message } of evaluateRules(kind, value, stored).problems) messages.add(message)
}

function ruleMessages(schema: StructuralSchema): string[] {
  const children = [...Object.values(schema.properties ?? {}), schema.items, schema.additionalProperties]
  return [
    ...(schema['x-kubernetes-validations'] ?? []).map(({ rule, message }) => message ?? rule),
    ...children.flatMap((child) => (child ? ruleMessages(child) : [])),
  ]
}

/** The fields of the schema that the object does not use. */
function unusedFields(schema: StructuralSchema, value: unknown, path = ''): string[] {
  const values = [value].flat(1)
  if (schema.items) return values.length > 0 ? unusedFields(schema.items, values, path) : []
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const used = values.map((item) => (isObject(item) ? item[name] : undefined)).filter((item) => item !== undefined)
    // Two fields exclude each other, so one of them is absent.
    if (used.length === 0) return EXCLUDED.has(`${path}.${name}`) ? [] : [`${path}.${name}`]
    return unusedFields(field, used.flat(1), `${path}.${name}`)
  })
}

const EXCLUDED = new Set(['.spec.clientSecret.generate', '.spec.durationSeconds'])
