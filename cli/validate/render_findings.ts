import type { Finding } from './finding.ts'

/** What no check without a cluster can tell, whatever the files hold. */
const NOT_CHECKED = 'rules that compare with the stored object (what is immutable) are checked when it is applied'

/** The findings as lines `file:line:column: severity: object: field: message` with a count below, or as one JSON text. */
export function renderFindings(findings: Finding[], format: 'text' | 'json' = 'text'): string {
  if (format === 'json') return `${JSON.stringify({ findings, notChecked: [NOT_CHECKED] }, null, 2)}\n`
  const errors = findings.filter(({ severity }) => severity === 'error').length
  const count = `${quantity(errors, 'error')}, ${quantity(findings.length - errors, 'note')}`
  return [...findings.map(lineOf), `${count}; ${NOT_CHECKED}`, ''].join('\n')
}

function lineOf({ file, line, column, severity, object, field, message }: Finding): string {
  const parts = [`${file}:${line}:${column}`, severity, object, field, message]
  return parts
    .filter((part) => part !== undefined)
    .map(printable)
    .join(': ')
}

/** Names come from the files: a control character in one would speak to the terminal. */
function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '\uFFFD')
}

function quantity(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}
