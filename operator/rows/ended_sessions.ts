import { appendAudit } from '../../store/audit.ts'
import type { Db } from '../../store/db.ts'
import { endSessions } from '../../store/sessions/sessions.ts'
import type { EndReason } from '../../store/sessions/sessions.ts'
import type { StoreAccess } from './store_access.ts'

/** Ends every session of a subject, a client or a realm, and records that in the audit chain if there were any. */
export async function endSessionsOf(
  db: Db,
  of: { realm: string; subject?: string; clientId?: string },
  reason: EndReason,
  { now, auditWriter }: StoreAccess,
): Promise<void> {
  const at = now()
  const sessions = await endSessions(db, of, reason, at)
  if (sessions === 0) return
  const { realm, ...whose } = of
  await appendAudit(db, auditWriter, [{ at, action: 'session_ended', realm, details: { ...whose, reason, sessions } }])
}
