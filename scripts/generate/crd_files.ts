import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { StructuralSchema } from '../../crds/validation/schema.ts'

/** A structural schema with the words that only people read. */
export interface Schema extends StructuralSchema {
  title?: string
  description?: string
  properties?: Record<string, Schema>
  additionalProperties?: Schema
  items?: Schema
}

export interface PrinterColumn {
  name: string
  type: string
  description?: string
  jsonPath: string
  priority?: number
}

/** What the generators need of one CustomResourceDefinition. */
export interface Crd {
  kind: string
  plural: string
  shortNames: string[]
  /** Base name of the generated files. */
  fileName: string
  apiVersion: string
  columns: PrinterColumn[]
  schema: Schema
}

/** The YAML files under crds/, and what their generated files are called, in the order in which the kinds depend on each other. */
const FILES = [
  { source: 'realms.yaml', fileName: 'realm' },
  { source: 'clients.yaml', fileName: 'client' },
  { source: 'users.yaml', fileName: 'user' },
  { source: 'roleassignments.yaml', fileName: 'role_assignment' },
]

export function readCrds(folder: string): Crd[] {
  return FILES.map(({ source, fileName }) => {
    const { spec } = parse(readFileSync(join(folder, source), 'utf8'))
    const version = spec.versions[0]
    return {
      kind: spec.names.kind,
      plural: spec.names.plural,
      shortNames: spec.names.shortNames,
      fileName,
      apiVersion: `${spec.group}/${version.name}`,
      columns: version.additionalPrinterColumns,
      schema: version.schema.openAPIV3Schema,
    }
  })
}
