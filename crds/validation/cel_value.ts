import { childSchema, isObject, saysNothing } from './defaulting.ts'
import type { StructuralSchema } from './schema.ts'

/** A value as CEL sees it: integers as BigInt, times as Date. Values that do not fit their type are left as they are. */
export function celValue(schema: StructuralSchema, value: unknown): unknown {
  if (schema.type === 'integer' && typeof value === 'number' && Number.isInteger(value)) return BigInt(value)
  if (schema.format === 'date-time' && typeof value === 'string') return new Date(value)
  if (saysNothing(schema)) return value
  if (Array.isArray(value)) return value.map((item) => celValue(schema.items ?? {}, item))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, celValue(childSchema(schema, name), field)]),
  )
}

/** The former value of a member or item; undefined where an API server could not say which one it was. */
export function formerItem(schema: StructuralSchema, former: unknown, item: unknown): unknown {
  if (schema['x-kubernetes-list-type'] !== 'map' || !Array.isArray(former) || !isObject(item)) return undefined
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  return former.find((candidate) => isObject(candidate) && keys.every((key) => candidate[key] === item[key]))
}
