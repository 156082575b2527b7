import { EvaluationError } from '@marcbachmann/cel-js'
import { kubernetesEnvironment } from './cel_functions.ts'
import { celValue, formerItem } from './cel_value.ts'
import { childSchema, isObject, saysNothing } from './defaulting.ts'
import type { Problem } from './problem.ts'
import type { StructuralSchema, ValidationRule } from './schema.ts'
import { SCHEMAS } from '../schemas.gen.ts'

/** A rule that could not be evaluated here. It neither passed nor failed: only an API server can tell. */
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
 * Evaluates the CEL rules (x-kubernetes-validations) of a kind on a defaulted object without schema problems. Rules
 * that compare with oldSelf are evaluated when the stored object is given, as on an update, and skipped as on a create
 * otherwise.
 */
export function evaluateRules(kind: string, object: unknown, oldObject?: unknown): RuleResults {
  const schema = SCHEMAS.get(kind)?.schema ?? {}
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
  if (saysNothing(schema)) return
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
    // A missing key fails the rule on an API server too. Anything else says that this interpreter lacks something.
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
