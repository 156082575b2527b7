import { Ajv } from 'ajv'
import type { ErrorObject, ValidateFunction } from 'ajv'
import type { KindSchema, StructuralSchema } from '../schemas.ts'
import { childSchema } from './defaulting.ts'
import type { Problem } from './problem.ts'
import { didYouMean } from './suggestion.ts'

const compiled = new Map<string, ValidateFunction>()

/** Checks the types, bounds, formats and field names of a defaulted object. */
export function schemaProblems({ kind, schema }: KindSchema, object: Record<string, unknown>): Problem[] {
  const validate = compiled.get(kind) ?? compile(kind, schema)
  if (validate(object)) return []
  return (validate.errors ?? []).map((error) => problemOf(schema, error))
}

function compile(kind: string, schema: StructuralSchema): ValidateFunction {
  const ajv = new Ajv({ allErrors: true, strict: true, strictRequired: false, allowMatchingProperties: true })
  ajv.addFormat('date-time', isRfc3339)
  ajv.addFormat('int32', { type: 'number', validate: (n) => Number.isInteger(n) && Math.abs(n) <= 2 ** 31 - 1 })
  ajv.addFormat('int64', { type: 'number', validate: Number.isSafeInteger })
  const validate = ajv.compile(jsonSchema(schema))
  compiled.set(kind, validate)
  return validate
}

function problemOf(root: StructuralSchema, { instancePath, keyword, params }: ErrorObject): Problem {
  const { path, schema } = locate(root, instancePath)
  if (keyword === 'required') return { path: [...path, params['missingProperty']], message: 'is required' }
  if (keyword === 'additionalProperties') {
    const field: string = params['additionalProperty']
    return {
      path: [...path, field],
      message: `unknown field${didYouMean(field, Object.keys(schema.properties ?? {}))}`,
    }
  }
  return { path, message: MESSAGES[keyword]?.(params) ?? `does not fit the schema (${keyword})` }
}

const MESSAGES: Record<string, (params: ErrorObject['params']) => string> = {
  type: ({ type }) => `must be ${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}`,
  enum: ({ allowedValues }) => `must be one of ${allowedValues.join(', ')}`,
  pattern: ({ pattern }) => `does not match ${pattern}`,
  format: ({ format }) => FORMATS[format] ?? `is not a valid ${format}`,
  minLength: ({ limit }) => (limit === 1 ? 'is empty' : `is shorter than ${limit} characters`),
  maxLength: ({ limit }) => `is longer than ${limit} characters`,
  minItems: ({ limit }) => `has fewer than ${limit} item${limit === 1 ? '' : 's'}`,
  maxItems: ({ limit }) => `has more than ${limit} items`,
  maxProperties: ({ limit }) => `has more than ${limit} entries`,
  minimum: ({ limit }) => `is less than ${limit}`,
  maximum: ({ limit }) => `is more than ${limit}`,
}

const FORMATS: Record<string, string> = {
  'date-time': 'must be an RFC 3339 time, as 2030-01-31T12:00:00Z',
  int32: 'is not a 32-bit integer',
  int64: 'is not an integer that JSON represents exactly',
}

/** The path and the schema at a JSON pointer. A step into an array is a number. */
function locate(root: StructuralSchema, pointer: string): { path: Problem['path']; schema: StructuralSchema } {
  let schema = root
  const path = pointer
    .split('/')
    .slice(1)
    .map((step) => {
      const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
      const index = schema.items ? Number(name) : name
      schema = schema.items ?? childSchema(schema, name)
      return index
    })
  return { path, schema }
}

/** The JSON Schema for a structural schema under strict field validation: it refuses unknown fields. */
function jsonSchema(schema: StructuralSchema): Record<string, unknown> {
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

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/

/** Whether an API server accepts a text as a time: RFC 3339 section 5.6, without leap seconds and with the T. */
export function isRfc3339(text: string): boolean {
  const [, year, month, day] = RFC3339.exec(text) ?? []
  if (year === undefined) return false
  const date = new Date(`${year}-${month}-01T00:00:00Z`)
  if (Number.isNaN(date.getTime())) return false
  date.setUTCDate(Number(day))
  return date.getUTCMonth() + 1 === Number(month) && Number(day) > 0
}
