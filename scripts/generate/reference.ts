import type { Crd, Schema } from './crd_files.ts'

/** The reference page of one kind: a table for each group of fields. */
export function referenceOf({ kind, plural, shortNames, apiVersion, schema, columns }: Crd): string {
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
function groupOf(path: string, group: Schema): string[] {
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

function nestedGroup(path: string, field: Schema): string[] {
  if (field.properties) return groupOf(path, field)
  if (field.items?.properties) return groupOf(`${path}[]`, { ...field.items, description: field.description! })
  return []
}

function rowOf(name: string, field: Schema, required: boolean): string {
  const standard =
    field.default === undefined || isEmptyObject(field.default) ? '' : code(JSON.stringify(field.default))
  const bounds = boundsOf(field)
  const meaning = [
    field.description!,
    bounds && `${bounds}.`,
    ...rulesIn(field).map((message) => `Rule: ${message}.`),
  ].filter(Boolean)
  return `| \`${name}\`${required ? ' (required)' : ''} | ${typeOf(field)} | ${standard} | ${escape(meaning.join(' '))} |`
}

/** Rules that stand on a scalar or on the items of a list; those of groups are listed above their table. */
function rulesIn(field: Schema): string[] {
  const own = field.properties ? [] : (field['x-kubernetes-validations'] ?? [])
  const items = field.items && !field.items.properties ? (field.items['x-kubernetes-validations'] ?? []) : []
  return [...own, ...items].map(({ message }) => message!)
}

function rulesOf(group: Schema): string[] {
  const rules = group['x-kubernetes-validations'] ?? []
  return rules.length === 0 ? [] : ['Rules:', ...rules.map(({ message }) => `- ${escape(message!)}.`), '']
}

function typeOf(field: Schema): string {
  if (field.enum) return field.enum.map((value) => code(value)).join(', ')
  if (field.type === 'array') return field.items!.properties ? 'list of objects' : `list of ${typeOf(field.items!)}`
  if (field.additionalProperties) return `map of ${typeOf(field.additionalProperties)}`
  return field.format === 'date-time' ? 'time (RFC 3339)' : field.type!
}

function boundsOf(field: Schema): string {
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

/** What Markdown would take for a column or a tag. */
function escape(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;')
}
