import type { StructuralSchema } from '../schemas.ts'

/**
 * A copy with defaults, by the rules of the API server: null counts as absent (no field of ours is nullable), and
 * defaults inside a default apply too. Unknown fields stay unchanged.
 */
export function withDefaults(schema: StructuralSchema, value: unknown): unknown {
  if (isLeaf(schema)) return value
  if (Array.isArray(value)) return value.map((item) => withDefaults(schema.items ?? {}, item))
  if (!isObject(value)) return value

  const result = new Map(Object.entries(value).filter(([name, field]) => field !== null || !known(schema, name)))
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    if (!result.has(name) && field.default !== undefined) result.set(name, structuredClone(field.default))
  }
  return Object.fromEntries([...result].map(([name, field]) => [name, withDefaults(childSchema(schema, name), field)]))
}

/** Whether a schema has no children. A walk stops there, because a value below may be cyclic (YAML anchors). */
export function isLeaf({ properties, additionalProperties, items }: StructuralSchema): boolean {
  return !properties && !additionalProperties && !items
}

/** The schema of a member; an empty schema for an unknown member. */
export function childSchema(schema: StructuralSchema, name: string): StructuralSchema {
  const { properties = {} } = schema
  return (Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties) ?? {}
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function known(schema: StructuralSchema, name: string): boolean {
  return Object.hasOwn(schema.properties ?? {}, name) || schema.additionalProperties !== undefined
}
