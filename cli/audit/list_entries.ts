import { listAudit } from '../../store/audit.ts'
import type { AuditRow } from '../../store/audit.ts'
import type { Db } from '../../store/db.ts'
import { ASSIGNMENT_ACTIONS, entryOf, isAbout } from './audit_entry.ts'
import type { AuditEntryView } from './audit_entry.ts'

export interface EntryFilter {
  realm?: string | undefined
  since?: Date | undefined
  /** Name, `namespace/name` or uid of a RoleAssignment. */
  assignment?: string | undefined
  /** Also what is not about RoleAssignments: sessions and keys. */
  all?: boolean | undefined
}

const PAGE = 1_000

/** Entries by time, page by page. */
export async function* listEntries(db: Db, filter: EntryFilter): AsyncGenerator<AuditEntryView[]> {
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
