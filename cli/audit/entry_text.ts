import { printable } from '../../process/printable.ts'
import type { AuditEntry } from './entries.ts'

const WORDS: Record<string, string> = {
  assignment_requested: 'requested',
  assignment_decided: 'decided',
  roles_granted: 'granted',
  roles_revoked: 'revoked',
  roles_expired: 'expired',
}
const LONGEST = 300
/** Details that have a column of their own, or are part of one. */
const IN_COLUMNS = new Set(['uid', 'assignmentUid', 'namespace', 'name', 'assignment'])

/** An entry as one line: time, action, realm, assignment, and the rest as `key=value`. */
export function entryLine({ at, action, realm, assignment, details }: AuditEntry): string {
  const rest = Object.entries(details)
    .filter(([key, value]) => !IN_COLUMNS.has(key) && value !== null && !isEmpty(value))
    .map(([key, value]) => `${key}=${valueText(value)}`)
  return [
    at,
    (WORDS[action] ?? action).padEnd(9),
    printable(realm || '-').padEnd(12),
    printable(assignment ?? '-', 120).padEnd(24),
    printable(rest.join(' '), LONGEST),
  ]
    .join('  ')
    .trimEnd()
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.map(String).join(',')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}
