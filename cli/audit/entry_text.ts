import { printable } from '../../process/printable.ts'
import type { AuditEntryView } from './audit_entry.ts'
import type { ChainCheck } from './verify_chains.ts'

const WORDS: Record<string, string> = {
  assignment_requested: 'requested',
  assignment_decided: 'decided',
  roles_granted: 'granted',
  roles_revoked: 'revoked',
  roles_expired: 'expired',
}
const LONGEST = 300
/** They have columns of their own. */
const SHOWN_ELSEWHERE = new Set(['uid', 'assignmentUid', 'namespace', 'name', 'assignment'])

/** One line for each entry: when, what, where, about which assignment, and the rest as `key=value`. */
export function entryLine({ at, action, realm, assignment, details }: AuditEntryView): string {
  const rest = Object.entries(details)
    .filter(([key, value]) => !SHOWN_ELSEWHERE.has(key) && value !== null && !isEmpty(value))
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

/** One line for each chain. */
export function chainLine({ writer, rows, head, brokenAt }: ChainCheck): string {
  const name = printable(writer, 120)
  if (brokenAt === undefined) return `ok      ${name}: ${rows} rows, ends in ${head ?? 'nothing'}`
  return `BROKEN  ${name}: row ${brokenAt} does not follow from ${rows === 0 ? 'nothing' : 'the one before it'}; ${rows} rows before it hold`
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.map(String).join(',')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}
