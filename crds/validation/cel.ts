import { EvaluationError } from '@marcbachmann/cel-js'
import { kubernetesEnvironment } from './cel_functions.ts'
import { childSchema, isObject, isLeaf } from './defaulting.ts'
import type { Problem } from './problem.ts'
import { kindSchema } from '../schemas.ts'
import type { StructuralSchema, ValidationRule } from '../schemas.ts'

/** A rule that this interpreter cannot evaluate. Only an API server knows whether it passes. */
export interface UnevaluatedRule {
  path: Problem['path']
  rule: string
  why: string
}

export interface RuleResults {
  problems: Problem[]
  unevaluated: UnevaluatedRule[]
}

/**
 * Evaluates the CEL rules (x-kubernetes-validations) of a kind on a defaulted object without schema problems. Rules on
 * oldSelf are evaluated when `oldObject` is given (an update) and skipped otherwise (a create).
 */
export function evaluateRules(kind: string, object: unknown, oldObject?: unknown): RuleResults {
  const schema = kindSchema(kind)?.schema ?? {}
  return evaluateSchemaRules(schema, object, oldObject)
}

/** As `evaluateRules`, for any structural schema. */
export function evaluateSchemaRules(schema: StructuralSchema, object: unknown, oldObject?: unknown): RuleResults {
  const results: RuleResults = { problems: [], unevaluated: [] }
  visit(
    schema,
    celValue(schema, object),
    oldObject === undefined ? undefined : celValue(schema, oldObject),
    [],
    results,
  )
  return results
}

function visit(schema: StructuralSchema, self: unknown, oldSelf: unknown, path: Problem['path'], results: RuleResults) {
  for (const rule of schema['x-kubernetes-validations'] ?? []) apply(rule, self, oldSelf, path, results)
  if (isLeaf(schema)) return
  if (Array.isArray(self)) {
    const { items } = schema
    if (!items) return
    self.forEach((item, index) => visit(items, item, formerItem(schema, oldSelf, item), [...path, index], results))
  } else if (isObject(self)) {
    for (const [name, field] of Object.entries(self)) {
      const former = isObject(oldSelf) && Object.hasOwn(oldSelf, name) ? oldSelf[name] : undefined
      visit(childSchema(schema, name), field, former, [...path, name], results)
    }
  }
}

function apply(rule: ValidationRule, self: unknown, oldSelf: unknown, path: Problem['path'], results: RuleResults) {
  const text = rule.rule
  if (oldSelf === undefined && /\boldSelf\b/.test(text)) return
  try {
    if (parsed(text)({ self, oldSelf }) === true) return
  } catch (error) {
    // On an API server, too, a missing key fails the rule. Any other error shows that this interpreter lacks a feature.
    if (!(error instanceof EvaluationError) || error.code !== 'no_such_key') {
      results.unevaluated.push({ path, rule: text, why: firstLine(error) })
      return
    }
  }
  const where = rule.fieldPath ? rule.fieldPath.split('.').filter(Boolean) : []
  results.problems.push({ path: [...path, ...where], message: rule.message ?? `does not satisfy ${text}` })
}

const environment = kubernetesEnvironment()
const rules = new Map<string, ReturnType<typeof environment.parse>>()

function parsed(rule: string): ReturnType<typeof environment.parse> {
  const known = rules.get(rule)
  if (known) return known
  const fresh = environment.parse(rule)
  rules.set(rule, fresh)
  return fresh
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0]!
}

/** Converts to the types of CEL: integers to BigInt, times to Date. A value of another type than its schema stays. */
function celValue(schema: StructuralSchema, value: unknown): unknown {
  if (schema.type === 'integer' && typeof value === 'number' && Number.isInteger(value)) return BigInt(value)
  if (schema.format === 'date-time' && typeof value === 'string') return new Date(value)
  if (isLeaf(schema)) return value
  if (Array.isArray(value)) return value.map((item) => celValue(schema.items ?? {}, item))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, celValue(childSchema(schema, name), field)]),
  )
}

/** The former value of a list item. Only lists of type map have one: an API server correlates items by their keys. */
function formerItem(schema: StructuralSchema, former: unknown, item: unknown): unknown {
  if (schema['x-kubernetes-list-type'] !== 'map' || !Array.isArray(former) || !isObject(item)) return undefined
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  return former.find((candidate) => isObject(candidate) && keys.every((key) => candidate[key] === item[key]))
}
