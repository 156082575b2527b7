import { appendAudit } from '../../store/audit.ts'
import type { Db } from '../../store/db.ts'
import { endSessions } from '../../store/sessions/session_ends.ts'
import type { SessionOwner } from '../../store/sessions/session_ends.ts'
import type { EndReason } from '../../store/sessions/sessions.ts'
import type { StoreAccess } from './store_access.ts'

/**
 * Ends every session of a subject, a client or a realm with the commit of this transaction, and records that in the
 * audit chain if there were any. Where there are many, `runRemainingDeletions` deletes the rest and records their number.
 */
export async function endSessionsOf(
  db: Db,
  of: SessionOwner,
  reason: EndReason,
  { now, auditWriter }: StoreAccess,
): Promise<void> {
  const at = now()
  const { ended, isComplete } = await endSessions(db, of, reason, at)
  if (ended === 0 && isComplete) return
  const { realm, ...whose } = of
  const sessions = isComplete ? ended : `${ended} and more`
  await appendAudit(db, auditWriter, [{ at, action: 'session_ended', realm, details: { ...whose, reason, sessions } }])
}
