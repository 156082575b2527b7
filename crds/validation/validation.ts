import { childSchema, isObject, isLeaf, withDefaults } from './defaulting.ts'
import { listProblems } from './list_rules.ts'
import { metadataProblems } from './object_meta.ts'
import type { Problem } from './problem.ts'
import { KIND_NAMES, kindSchema } from '../schemas.ts'
import type { StructuralSchema } from '../schemas.ts'
import { schemaProblems } from './schema_problems.ts'

/** An object after defaulting, and its problems. Without problems, `value` has the generated type of its kind. */
export interface Validated {
  value: Record<string, unknown>
  problems: Problem[]
}

/**
 * Does the part of an API server's write that precedes CEL rules: fills in defaults, then checks types, formats, bounds,
 * unknown fields (refused, as under strict field validation) and list types.
 */
export function defaultAndValidate(kind: string, object: unknown): Validated {
  const known = kindSchema(kind)
  if (!known) return { value: {}, problems: [{ path: ['kind'], message: `is not one of ${KIND_NAMES.join(', ')}` }] }
  if (!isObject(object)) return { value: {}, problems: [{ path: [], message: 'must be an object' }] }

  const { metadata, ...rest } = object
  const defaulted = withDefaults(known.schema, rest)
  const value: Record<string, unknown> = { ...(isObject(defaulted) && defaulted), metadata }
  const problems = [
    ...typeMetaProblems(kind, known.apiVersion, value),
    ...metadataProblems(metadata),
    ...schemaProblems(known, value),
    ...listProblems(known.schema, value),
    ...textProblems(known.schema, value, []),
  ]
  return { value, problems: onePerPath(problems) }
}

function typeMetaProblems(kind: string, apiVersion: string, object: Record<string, unknown>): Problem[] {
  const problems: Problem[] = []
  if (object['kind'] !== kind) problems.push({ path: ['kind'], message: `must be ${kind}` })
  if (object['apiVersion'] !== apiVersion) problems.push({ path: ['apiVersion'], message: `must be ${apiVersion}` })
  return problems
}

/** Finds lone surrogates: an API server would replace them silently, and Postgres refuses them. */
function textProblems(schema: StructuralSchema, value: unknown, path: Problem['path']): Problem[] {
  if (typeof value === 'string') return value.isWellFormed() ? [] : [{ path, message: 'is not valid Unicode text' }]
  if (isLeaf(schema)) return []
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => textProblems(schema.items ?? {}, item, [...path, index]))
  }
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, field]) =>
    textProblems(childSchema(schema, name), field, [...path, name]),
  )
}

/** The first problem of each path: after a wrong type, the bounds mean nothing. */
function onePerPath(problems: Problem[]): Problem[] {
  const seen = new Set<string>()
  return problems.filter(({ path }) => {
    const key = JSON.stringify(path)
    if (seen.has(key)) return false
    seen.add(key)
    return true
  })
}
