import { childSchema, isObject, saysNothing } from './defaulting.ts'
import type { Problem } from './problem.ts'
import type { StructuralSchema } from './schema.ts'

/** What x-kubernetes-list-type asks for: no item twice in a set, no key twice in a map. */
export function listProblems(schema: StructuralSchema, value: unknown, path: Problem['path'] = []): Problem[] {
  if (saysNothing(schema)) return []
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
    const what = listType === 'set' ? 'the same item' : `the same ${keys.join(' and ')}`
    return [{ path: [...path, index], message: `has ${what} as item ${first}; remove one of the two` }]
  })
}
