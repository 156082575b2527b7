import type { StructuralSchema } from './schema.ts'

/**
 * A copy with defaults filled in as an API server does it: null counts as absent where a field is not nullable (none
 * of ours is), a default is put in place as a whole, and defaults inside it are then filled in as well. What the
 * schema does not know is left as it is.
 */
export function withDefaults(schema: StructuralSchema, value: unknown): unknown {
  if (saysNothing(schema)) return value
  if (Array.isArray(value)) return value.map((item) => withDefaults(schema.items ?? {}, item))
  if (!isObject(value)) return value

  const result = new Map(Object.entries(value).filter(([name, field]) => field !== null || !known(schema, name)))
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    if (!result.has(name) && field.default !== undefined) result.set(name, structuredClone(field.default))
  }
  return Object.fromEntries([...result].map(([name, field]) => [name, withDefaults(childSchema(schema, name), field)]))
}

/** Whoever walks along a schema stops here: what is beyond may be deep without end (a YAML anchor inside itself). */
export function saysNothing({ properties, additionalProperties, items }: StructuralSchema): boolean {
  return !properties && !additionalProperties && !items
}

/** The schema of a member; an empty one where nothing is said about it. */
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
