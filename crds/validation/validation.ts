import { childSchema, isObject, isLeaf, withDefaults } from './defaulting.ts'
import { API_VERSION, API_VERSIONS } from '../group.ts'
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
  const nodes = nodesOf(known.schema, value)
  const problems = [
    ...typeMetaProblems(kind, value),
    ...metadataProblems(metadata),
    ...schemaProblems(known, value),
    ...nodes.flatMap(listProblems),
    ...nodes.flatMap(textProblems),
  ]
  return { value, problems: onePerPath(problems) }
}

function typeMetaProblems(kind: string, object: Record<string, unknown>): Problem[] {
  const problems: Problem[] = []
  if (object['kind'] !== kind) problems.push({ path: ['kind'], message: `must be ${kind}` })
  if (!API_VERSIONS.includes(String(object['apiVersion']))) {
    problems.push({ path: ['apiVersion'], message: `must be ${API_VERSION}` })
  }
  return problems
}

/** A value of an object, with its schema. */
interface Node {
  path: Problem['path']
  schema: StructuralSchema
  value: unknown
}

function nodesOf(schema: StructuralSchema, value: unknown, path: Problem['path'] = []): Node[] {
  const node = { path, schema, value }
  if (isLeaf(schema)) return [node]
  if (Array.isArray(value)) {
    const { items = {} } = schema
    return [node, ...value.flatMap((item, index) => nodesOf(items, item, [...path, index]))]
  }
  if (!isObject(value)) return [node]
  const members = Object.entries(value)
  return [node, ...members.flatMap(([name, field]) => nodesOf(childSchema(schema, name), field, [...path, name]))]
}

/** Duplicates under x-kubernetes-list-type: equal items in a set, equal keys in a map. */
function listProblems({ path, schema, value: list }: Node): Problem[] {
  const listType = schema['x-kubernetes-list-type']
  if (!Array.isArray(list) || (listType !== 'set' && listType !== 'map')) return []

  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  const firstAt = new Map<string, number>()
  return list.flatMap((item, index) => {
    const key = JSON.stringify(
      listType === 'set' ? item : keys.map((name) => (isObject(item) ? item[name] : undefined)),
    )
    const first = firstAt.get(key)
    if (first === undefined) {
      firstAt.set(key, index)
      return []
    }
    const same = listType === 'set' ? 'is equal to' : `has the same ${keys.join(' and ')} as`
    return [{ path: [...path, index], message: `${same} item ${first}; remove one of the two` }]
  })
}

/** Finds lone surrogates: an API server would replace them silently, and Postgres refuses them. */
function textProblems({ path, value }: Node): Problem[] {
  const isBroken = typeof value === 'string' && !value.isWellFormed()
  return isBroken ? [{ path, message: 'is not valid Unicode text' }] : []
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
