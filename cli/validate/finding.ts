import { count, printable } from '../../process/printable.ts'

/** An `error` makes the command fail; a `note` names a check that needs a cluster, or an effect. */
export type Severity = 'error' | 'note'

/** An error or a note about a manifest. It never holds a value of a Secret. */
export interface Finding {
  file: string
  /** From 1. */
  line: number
  /** From 1. */
  column: number
  severity: Severity
  /** `Client quickstart/shop`; absent when the file cannot be parsed. */
  object?: string
  /** `spec.redirectUris[0]` */
  field?: string
  message: string
}

export function hasErrors(findings: Finding[]): boolean {
  return findings.some(({ severity }) => severity === 'error')
}

/** Needs the stored object, so only a cluster can check it. */
const NOT_CHECKED = 'rules that compare with the stored object (what is immutable) are checked when it is applied'

const LONGEST_PART = 2_000

/** The findings as lines `file:line:column: severity: object: field: message` with a count below, or as one JSON text. */
export function renderFindings(findings: Finding[], format: 'text' | 'json' = 'text'): string {
  if (format === 'json') return `${JSON.stringify({ findings, notChecked: [NOT_CHECKED] }, null, 2)}\n`
  const errors = findings.filter(({ severity }) => severity === 'error').length
  const counts = `${count(errors, 'error')}, ${count(findings.length - errors, 'note')}`
  return [...findings.map(lineOf), `${counts}; ${NOT_CHECKED}`, ''].join('\n')
}

function lineOf({ file, line, column, severity, object, field, message }: Finding): string {
  const parts = [`${file}:${line}:${column}`, severity, object, field, message]
  return parts
    .filter((part) => part !== undefined)
    .map((part) => printable(part, LONGEST_PART))
    .join(': ')
}
