/** `error` makes the command fail; a `note` says what could not be checked here, or what will be done. */
export type Severity = 'error' | 'note'

/** One thing to say about a manifest. It never holds a value out of a Secret. */
export interface Finding {
  file: string
  /** From 1. */
  line: number
  /** From 1. */
  column: number
  severity: Severity
  /** `Client quickstart/shop`; absent where the file cannot be read as far as that. */
  object?: string
  /** `spec.redirectUris[0]` */
  field?: string
  message: string
}

export function hasErrors(findings: Finding[]): boolean {
  return findings.some(({ severity }) => severity === 'error')
}
