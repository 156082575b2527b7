import { listAudit, timeText } from '../../store/audit.ts'
import type { AuditRow } from '../../store/audit.ts'
import type { Db } from '../../store/db.ts'

/** What `realmkeeper audit` lists by default: the history of RoleAssignments. */
const ASSIGNMENT_ACTIONS = [
  'assignment_requested',
  'assignment_decided',
  'roles_granted',
  'roles_revoked',
  'roles_expired',
] as const

export interface EntryFilter {
  realm?: string | undefined
  since?: Date | undefined
  /** Name, `namespace/name` or uid of a RoleAssignment. */
  assignment?: string | undefined
  /** Includes sessions and keys. */
  all?: boolean | undefined
}

/** An audit row as the command prints it. */
export interface AuditEntry {
  at: string
  action: string
  realm: string
  /** `namespace/name`, if the entry is about a RoleAssignment. */
  assignment?: string
  details: Record<string, unknown>
  writer: string
  seq: number
  /** Hex. */
  hash: string
}

const PAGE = 1_000

/** Entries by time, page by page. */
export async function* listEntries(db: Db, filter: EntryFilter): AsyncGenerator<AuditEntry[]> {
  const { realm, since, assignment, all } = filter
  const actions = all ? undefined : ASSIGNMENT_ACTIONS
  let last: AuditRow | undefined
  for (;;) {
    const rows = await listAudit(db, { actions, realm, since }, last, PAGE)
    const entries = rows.map(entryOf)
    yield assignment === undefined ? entries : entries.filter((entry) => isAbout(entry, assignment))
    if (rows.length < PAGE) return
    last = rows.at(-1)
  }
}

function entryOf({ at, action, realm, details, writer, seq, hash }: AuditRow): AuditEntry {
  const parsed = parseDetails(details)
  const assignment = assignmentIn(parsed)
  return {
    at: timeText(at),
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
function isAbout({ assignment, details }: AuditEntry, wanted: string): boolean {
  const uid = details['uid'] ?? details['assignmentUid']
  return assignment !== undefined && (assignment === wanted || assignment.endsWith(`/${wanted}`) || uid === wanted)
}

function assignmentIn({ assignment, namespace, name, uid }: Record<string, unknown>): string | undefined {
  if (typeof assignment === 'string') return assignment
  const hasName = typeof uid === 'string' && typeof namespace === 'string' && typeof name === 'string'
  return hasName ? `${namespace}/${name}` : undefined
}

/** Tampered rows may hold any text; `audit verify` reports them. */
function parseDetails(text: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text)
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return { ...parsed }
  } catch {
    // As for JSON that is not an object.
  }
  return { unreadable: true }
}
