import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

/** A CEL rule of a schema, as an API server reads it. */
export interface ValidationRule {
  rule: string
  message?: string
  /** The field that the message is about, relative to the value that holds the rule: `.spec.realm`. */
  fieldPath?: string
  reason?: string
}

/** The part of a structural schema (Kubernetes CRD, openAPIV3Schema) that our four kinds use. */
export interface StructuralSchema {
  title?: string
  description?: string
  type?: string
  format?: string
  default?: unknown
  enum?: string[]
  pattern?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  maxProperties?: number
  required?: string[]
  properties?: Record<string, StructuralSchema>
  additionalProperties?: StructuralSchema
  items?: StructuralSchema
  'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map'
  'x-kubernetes-list-map-keys'?: string[]
  'x-kubernetes-map-type'?: 'atomic' | 'granular'
  'x-kubernetes-validations'?: ValidationRule[]
}

export interface PrinterColumn {
  name: string
  type: string
  description?: string
  jsonPath: string
  priority?: number
}

/** The parts of a CustomResourceDefinition that this project reads. */
export interface KindSchema {
  kind: string
  plural: string
  shortNames: string[]
  apiVersion: string
  columns: PrinterColumn[]
  schema: StructuralSchema
}

/** The file of each kind. A kind refers only to kinds before it. */
const FILES = new Map([
  ['Realm', 'realms.yaml'],
  ['Client', 'clients.yaml'],
  ['User', 'users.yaml'],
  ['RoleAssignment', 'roleassignments.yaml'],
])

export const KIND_NAMES: readonly string[] = [...FILES.keys()]

const schemas = new Map<string, KindSchema>()

/** The schema of one of our kinds; undefined for any other name. Reads the kind's YAML file on the first call. */
export function kindSchema(kind: string): KindSchema | undefined {
  const file = FILES.get(kind)
  if (!file) return undefined
  const known = schemas.get(kind)
  if (known) return known

  const { spec } = parse(readFileSync(join(import.meta.dirname, file), 'utf8'))
  const version = spec.versions.find(({ storage }: { storage: boolean }) => storage)
  const schema: KindSchema = {
    kind: spec.names.kind,
    plural: spec.names.plural,
    shortNames: spec.names.shortNames,
    apiVersion: `${spec.group}/${version.name}`,
    columns: version.additionalPrinterColumns,
    schema: version.schema.openAPIV3Schema,
  }
  schemas.set(kind, schema)
  return schema
}
