import { compile } from 'json-schema-to-typescript'
import type { KindSchema, StructuralSchema } from '../../crds/schemas.ts'

/** Type names of nested groups whose property name is ambiguous. */
const GROUP_NAMES: Record<string, string> = {
  signing: 'SigningKey',
  refresh: 'RefreshKey',
  encryption: 'EncryptionKey',
  selector: 'NamespaceSelector',
  generate: 'GeneratedSecret',
}

/** The TypeScript of one kind: its Spec, its Status and a named type for each nested group. */
export async function typesOf({ kind, plural, apiVersion, schema }: KindSchema): Promise<string> {
  const names = new Set<string>([kind])
  const spec = named(kind, 'spec', schema.properties!['spec']!, names)
  const status = named(kind, 'status', schema.properties!['status']!, names)
  const options = { bannerComment: '', additionalProperties: false, maxItems: -1, style: STYLE }
  return [
    `// Generated from crds/${plural}.yaml by "npm run generate". Do not edit.`,
    `// Fields with a default are required, because objects are read after defaulting.`,
    '',
    onOneLine(await compile(spec as object, `${kind}Spec`, options)),
    onOneLine(await compile(status as object, `${kind}Status`, options)),
    `/** ${schema.description} */`,
    `export interface ${kind}<Metadata = { name: string; namespace: string }> {`,
    `  apiVersion: '${apiVersion}'`,
    `  kind: '${kind}'`,
    `  metadata: Metadata`,
    `  spec: ${kind}Spec`,
    `  status?: ${kind}Status`,
    `}`,
    '',
  ].join('\n')
}

const STYLE = { semi: false, singleQuote: true, printWidth: 120, trailingComma: 'all' } as const

/** Docstrings of one sentence take one line, as in the rest of the code. The bounds of lists are in the reference. */
function onOneLine(types: string): string {
  return types
    .replaceAll(/\n +\*\n +\* @maxItems \d+(?=\n)/g, '')
    .replaceAll(/\/\*\*\n +\* (.{1,108})\n +\*\//g, '/** $1 */')
}

/** A copy in which each group has a title (the name of its type) and fields with a default are required. */
function named(kind: string, property: string, schema: StructuralSchema, names: Set<string>): StructuralSchema {
  const { default: _default, ...rest } = schema
  const copy: StructuralSchema = rest
  if (schema.items) copy.items = named(kind, singular(property), schema.items, names)
  if (schema.additionalProperties) {
    copy.additionalProperties = named(kind, property, schema.additionalProperties, names)
  }
  if (!schema.properties) return copy

  copy.title = typeName(kind, property, names)
  const properties = Object.entries(schema.properties)
  copy.required = properties
    .filter(([name, field]) => schema.required?.includes(name) || field.default !== undefined)
    .map(([name]) => name)
  copy.properties = Object.fromEntries(properties.map(([name, field]) => [name, named(kind, name, field, names)]))
  return copy
}

function typeName(kind: string, property: string, names: Set<string>): string {
  const word = GROUP_NAMES[property] ?? property[0]!.toUpperCase() + property.slice(1)
  const name = word.startsWith(kind) ? word : kind + word
  if (names.has(name))
    throw new Error(`two groups of ${kind} get the type name ${name}; give one of them a name in GROUP_NAMES`)
  names.add(name)
  return name
}

function singular(property: string): string {
  return property.endsWith('s') && property !== 'status' ? property.slice(0, -1) : property
}
