import { Ajv } from 'ajv'
import type { ErrorObject, ValidateFunction } from 'ajv'
import { jsonSchema } from './json_schema.ts'
import type { Problem } from './problem.ts'
import { isRfc3339 } from './rfc3339.ts'
import { closest } from './suggestion.ts'
import type { KindSchema, StructuralSchema } from './schema.ts'

const compiled = new Map<string, ValidateFunction>()

/** What types, bounds, formats and names of fields are wrong in a defaulted object. */
export function schemaProblems({ kind, schema }: KindSchema, object: Record<string, unknown>): Problem[] {
  const validate = compiled.get(kind) ?? compile(kind, schema)
  if (validate(object)) return []
  return (validate.errors ?? []).map((error) => problemOf(schema, error))
}

/** Compiled on first use: a process that checks nothing does not pay for it. */
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
      return { path, message: `has to be ${withArticle(params['type'])}` }
    case 'enum':
      return { path, message: `has to be one of ${params['allowedValues'].join(', ')}` }
    case 'pattern':
      return { path, message: `does not match ${params['pattern']}` }
    case 'format':
      return { path, message: FORMATS[params['format']] ?? `is no ${params['format']}` }
    case 'minLength':
      return { path, message: params['limit'] === 1 ? 'is empty' : `is shorter than ${params['limit']} characters` }
    case 'maxLength':
      return { path, message: `is longer than ${params['limit']} characters` }
    case 'minItems':
      return { path, message: `has less than ${params['limit']} item${params['limit'] === 1 ? '' : 's'}` }
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
  'date-time': 'has to be an RFC 3339 time, as 2030-01-31T12:00:00Z',
  int32: 'is no 32-bit integer',
  int64: 'is no integer that can be told exactly',
}

/** Steps of a JSON pointer; a step into an array is a number. */
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
