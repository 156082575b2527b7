import type { Crd, Schema } from './crd_files.ts'

/** The schemas as data, so that a running process needs neither the YAML files nor a parse of them. */
export function schemasOf(crds: Crd[]): string {
  return [
    `// Generated from crds by "npm run generate". Do not edit.`,
    `import type { KindSchema } from './validation/schema.ts'`,
    '',
    ...crds.flatMap(({ kind, plural, apiVersion, schema }) => [
      `export const ${lowerFirst(kind)}Schema: KindSchema = ${JSON.stringify(
        { kind, plural, apiVersion, schema: withoutDescriptions(schema) },
        null,
        1,
      )}`,
      '',
    ]),
    `/** By kind. */`,
    `export const SCHEMAS: ReadonlyMap<string, KindSchema> = new Map([`,
    ...crds.map(({ kind }) => `  ['${kind}', ${lowerFirst(kind)}Schema],`),
    `])`,
    '',
  ].join('\n')
}

function lowerFirst(word: string): string {
  return word[0]!.toLowerCase() + word.slice(1)
}

/** Descriptions are half of the text and nothing that runs reads them. A field called description stays. */
function withoutDescriptions(schema: Schema): Schema {
  const { description: _description, ...copy } = schema
  if (copy.items) copy.items = withoutDescriptions(copy.items)
  if (copy.additionalProperties) copy.additionalProperties = withoutDescriptions(copy.additionalProperties)
  if (copy.properties) {
    copy.properties = Object.fromEntries(
      Object.entries(copy.properties).map(([name, field]) => [name, withoutDescriptions(field)]),
    )
  }
  return copy
}
