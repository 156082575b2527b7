import { childSchema, isObject, isLeaf } from './defaulting.ts'
import type { Problem } from './problem.ts'
import type { StructuralSchema } from '../schemas.ts'

/** Duplicates under x-kubernetes-list-type: equal items in a set, equal keys in a map. */
export function listProblems(schema: StructuralSchema, value: unknown, path: Problem['path'] = []): Problem[] {
  if (isLeaf(schema)) return []
  if (Array.isArray(value)) {
    const { items } = schema
    return [
      ...duplicates(schema, value, path),
      ...(items ? value.flatMap((item, index) => listProblems(items, item, [...path, index])) : []),
    ]
  }
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, field]) =>
    listProblems(childSchema(schema, name), field, [...path, name]),
  )
}

function duplicates(schema: StructuralSchema, list: unknown[], path: Problem['path']): Problem[] {
  const listType = schema['x-kubernetes-list-type']
  if (listType !== 'set' && listType !== 'map') return []

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
