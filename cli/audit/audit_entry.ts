import type { AuditRow } from '../../store/audit.ts'

/** What `realmkeeper audit` lists unless it is asked for everything: what became of RoleAssignments. */
export const ASSIGNMENT_ACTIONS = [
  'assignment_requested',
  'assignment_decided',
  'roles_granted',
  'roles_revoked',
  'roles_expired',
] as const

/** A row for people and programs. */
export interface AuditEntryView {
  at: string
  action: string
  realm: string
  /** `namespace/name`, where it is about a RoleAssignment. */
  assignment?: string
  details: Record<string, unknown>
  writer: string
  seq: number
  /** Hex. */
  hash: string
}

export function entryOf({ at, action, realm, details, writer, seq, hash }: AuditRow): AuditEntryView {
  const parsed = parsedDetails(details)
  const assignment = assignmentOf(parsed)
  return {
    at: at.toISOString(),
    action,
    realm,
    ...(assignment !== undefined && { assignment }),
    details: parsed,
    writer,
    seq,
    hash: hash.toString('hex'),
  }
}

/** @param wanted `name`, `namespace/name`, or a uid */
export function isAbout({ assignment, details }: AuditEntryView, wanted: string): boolean {
  const uid = details['uid'] ?? details['assignmentUid']
  return assignment !== undefined && (assignment === wanted || assignment.endsWith(`/${wanted}`) || uid === wanted)
}

function assignmentOf({ assignment, namespace, name, uid }: Record<string, unknown>): string | undefined {
  if (typeof assignment === 'string') return assignment
  if (typeof uid === 'string' && typeof namespace === 'string' && typeof name === 'string')
    return `${namespace}/${name}`
  return undefined
}

/** Somebody who got past the database may have written anything: that is for `verify` to say. */
function parsedDetails(text: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text)
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return { ...parsed }
  } catch {
    // Told below.
  }
  return { unreadable: true }
}
