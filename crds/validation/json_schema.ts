import type { StructuralSchema } from './schema.ts'

/** The JSON Schema that means what a structural schema means under strict field validation: nothing unknown is let in. */
export function jsonSchema(schema: StructuralSchema): Record<string, unknown> {
  const { properties, additionalProperties, items, default: _default, ...words } = schema
  const plain = Object.fromEntries(Object.entries(words).filter(([word]) => !word.startsWith('x-kubernetes-')))
  return {
    ...plain,
    ...(items && { items: jsonSchema(items) }),
    ...(additionalProperties && { additionalProperties: jsonSchema(additionalProperties) }),
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, jsonSchema(field)])),
      additionalProperties: false,
    }),
  }
}
