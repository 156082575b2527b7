import type { KindSchema, StructuralSchema } from '../../crds/schemas.ts'

/** The reference page of one kind: a table for each group of fields. */
export function referenceOf({ kind, plural, shortNames, apiVersion, schema, columns }: KindSchema): string {
  const { spec, status } = schema.properties!
  return [
    `<!-- Generated from crds/${plural}.yaml by "npm run generate". Do not edit. -->`,
    '',
    `# ${kind}`,
    '',
    schema.description!,
    '',
    `\`apiVersion: ${apiVersion}\`, \`kind: ${kind}\`; \`kubectl get ${plural}\`, short \`${shortNames.join('`, `')}\`.`,
    '',
    `\`kubectl get ${plural}\` shows: ${columns
      .map(({ name, priority }) => name + (priority ? ' (with `-o wide`)' : ''))
      .join(', ')}.`,
    '',
    ...rulesOf(schema),
    ...groupOf('spec', spec!),
    ...groupOf('status', status!),
  ].join('\n')
}

/** Heading, description, rules and table of one group, then the groups inside it. */
function groupOf(path: string, group: StructuralSchema): string[] {
  const rows = Object.entries(group.properties!)
  return [
    `## ${path}`,
    '',
    group.description!,
    '',
    ...rulesOf(group),
    '| field | type | default | meaning |',
    '|---|---|---|---|',
    ...rows.map(([name, field]) => rowOf(name, field, group.required?.includes(name) ?? false)),
    '',
    ...rows.flatMap(([name, field]) => nestedGroup(`${path}.${name}`, field)),
  ]
}

function nestedGroup(path: string, field: StructuralSchema): string[] {
  if (field.properties) return groupOf(path, field)
  if (field.items?.properties) return groupOf(`${path}[]`, { ...field.items, description: field.description! })
  return []
}

function rowOf(name: string, field: StructuralSchema, required: boolean): string {
  const defaultValue =
    field.default === undefined || isEmptyObject(field.default) ? '' : code(JSON.stringify(field.default))
  const bounds = boundsOf(field)
  const meaning = [
    field.description!,
    bounds && `${bounds}.`,
    ...rulesIn(field).map((message) => `Rule: ${message}.`),
  ].filter(Boolean)
  return `| \`${name}\`${required ? ' (required)' : ''} | ${typeOf(field)} | ${defaultValue} | ${escape(meaning.join(' '))} |`
}

/** The rules of a scalar or of list items. Rules of groups are listed above their table. */
function rulesIn(field: StructuralSchema): string[] {
  const own = field.properties ? [] : (field['x-kubernetes-validations'] ?? [])
  const items = field.items && !field.items.properties ? (field.items['x-kubernetes-validations'] ?? []) : []
  return [...own, ...items].map(({ message }) => message!)
}

function rulesOf(group: StructuralSchema): string[] {
  const rules = group['x-kubernetes-validations'] ?? []
  return rules.length === 0 ? [] : ['Rules:', ...rules.map(({ message }) => `- ${escape(message!)}.`), '']
}

function typeOf(field: StructuralSchema): string {
  if (field.enum) return field.enum.map((value) => code(value)).join(', ')
  if (field.type === 'array') return field.items!.properties ? 'list of objects' : `list of ${typeOf(field.items!)}`
  if (field.additionalProperties) return `map of ${typeOf(field.additionalProperties)}`
  return field.format === 'date-time' ? 'time (RFC 3339)' : field.type!
}

function boundsOf(field: StructuralSchema): string {
  const bounds = [
    range(field.minimum, field.maximum, ''),
    field.enum || field.format ? '' : range(undefined, field.maxLength, ' characters'),
    range(undefined, field.maxItems, ' items'),
    range(undefined, field.maxProperties, ' entries'),
  ]
  return bounds.filter(Boolean).join('; ')
}

function range(from: number | undefined, to: number | undefined, unit: string): string {
  if (to === undefined) return from === undefined ? '' : `At least ${from}${unit}`
  return from === undefined ? `At most ${to}${unit}` : `${from} to ${to}${unit}`
}

function code(text: string): string {
  return `\`${text}\``
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0
}

/** Escapes what Markdown reads as a column or a tag. */
function escape(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;')
}
