import { childSchema, isObject, saysNothing, withDefaults } from './defaulting.ts'
import { listProblems } from './list_rules.ts'
import { metadataProblems } from './object_meta.ts'
import type { Problem } from './problem.ts'
import { SCHEMAS } from '../schemas.gen.ts'
import type { StructuralSchema } from './schema.ts'
import { schemaProblems } from './schema_problems.ts'

/** An object after defaulting, and what is wrong with it. Without problems `value` fits the generated types. */
export interface Validated {
  value: Record<string, unknown>
  problems: Problem[]
}

/**
 * Does what an API server does on a write, without its CEL rules: fills in defaults, then checks types, formats,
 * bounds, unknown fields (refused, as under strict field validation) and list types. `kind` is one of the four.
 */
export function defaultAndValidate(kind: string, object: unknown): Validated {
  const known = SCHEMAS.get(kind)
  if (!known) return { value: {}, problems: [{ path: ['kind'], message: `is not one of ${KIND_NAMES}` }] }
  if (!isObject(object)) return { value: {}, problems: [{ path: [], message: 'has to be an object' }] }

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

const KIND_NAMES = [...SCHEMAS.keys()].join(', ')

function typeMetaProblems(kind: string, apiVersion: string, object: Record<string, unknown>): Problem[] {
  const problems: Problem[] = []
  if (object['kind'] !== kind) problems.push({ path: ['kind'], message: `has to be ${kind}` })
  if (object['apiVersion'] !== apiVersion) problems.push({ path: ['apiVersion'], message: `has to be ${apiVersion}` })
  return problems
}

/** A lone surrogate is no Unicode text: an API server would change it silently, and Postgres refuses it. */
function textProblems(schema: StructuralSchema, value: unknown, path: Problem['path']): Problem[] {
  if (typeof value === 'string') return value.isWellFormed() ? [] : [{ path, message: 'is no valid Unicode text' }]
  if (saysNothing(schema)) return []
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => textProblems(schema.items ?? {}, item, [...path, index]))
  }
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, field]) =>
    textProblems(childSchema(schema, name), field, [...path, name]),
  )
}

/** The first problem of each place: a value of the wrong type has no bounds to speak of. */
function onePerPath(problems: Problem[]): Problem[] {
  const seen = new Set<string>()
  return problems.filter(({ path }) => {
    const key = JSON.stringify(path)
    if (seen.has(key)) return false
    seen.add(key)
    return true
  })
}
