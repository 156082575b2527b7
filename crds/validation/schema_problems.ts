import { Ajv } from 'ajv'
import type { ErrorObject, ValidateFunction } from 'ajv'
import type { KindSchema, StructuralSchema } from '../schemas.ts'
import type { Problem } from './problem.ts'
import { closest } from './suggestion.ts'

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
  const path = pathOf(root, instancePath)
  switch (keyword) {
    case 'required':
      return { path: [...path, params['missingProperty']], message: 'is required' }
    case 'additionalProperties': {
      const field: string = params['additionalProperty']
      return { path: [...path, field], message: `unknown field${didYouMean(field, schemaAt(root, path))}` }
    }
    case 'type':
      return { path, message: `must be ${withArticle(params['type'])}` }
    case 'enum':
      return { path, message: `must be one of ${params['allowedValues'].join(', ')}` }
    case 'pattern':
      return { path, message: `does not match ${params['pattern']}` }
    case 'format':
      return { path, message: FORMATS[params['format']] ?? `is not a valid ${params['format']}` }
    case 'minLength':
      return { path, message: params['limit'] === 1 ? 'is empty' : `is shorter than ${params['limit']} characters` }
    case 'maxLength':
      return { path, message: `is longer than ${params['limit']} characters` }
    case 'minItems':
      return { path, message: `has fewer than ${params['limit']} item${params['limit'] === 1 ? '' : 's'}` }
    case 'maxItems':
      return { path, message: `has more than ${params['limit']} items` }
    case 'maxProperties':
      return { path, message: `has more than ${params['limit']} entries` }
    case 'minimum':
      return { path, message: `is less than ${params['limit']}` }
    case 'maximum':
      return { path, message: `is more than ${params['limit']}` }
    default:
      return { path, message: `does not fit the schema (${keyword})` }
  }
}

const FORMATS: Record<string, string> = {
  'date-time': 'must be an RFC 3339 time, as 2030-01-31T12:00:00Z',
  int32: 'is not a 32-bit integer',
  int64: 'is not an integer that JSON represents exactly',
}

/** The steps of a JSON pointer. A step into an array is a number. */
function pathOf(root: StructuralSchema, pointer: string): Problem['path'] {
  let schema: StructuralSchema | undefined = root
  return pointer
    .split('/')
    .slice(1)
    .map((step) => {
      const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
      const index: string | number = schema?.items ? Number(name) : name
      schema = schema?.items ?? schema?.properties?.[name] ?? schema?.additionalProperties
      return index
    })
}

function schemaAt(root: StructuralSchema, path: Problem['path']): StructuralSchema | undefined {
  return path.reduce<StructuralSchema | undefined>(
    (schema, step) => schema?.items ?? schema?.properties?.[step] ?? schema?.additionalProperties,
    root,
  )
}

function didYouMean(field: string, schema: StructuralSchema | undefined): string {
  const suggestion = closest(field, Object.keys(schema?.properties ?? {}))
  return suggestion ? `; did you mean ${suggestion}?` : ''
}

function withArticle(type: string): string {
  return `${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}`
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
