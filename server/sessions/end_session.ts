import { appendAudit } from '../../store/audit.ts'
import { inTransaction } from '../../store/db.ts'
import { endSession } from '../../store/sessions/sessions.ts'
import type { EndReason } from '../../store/sessions/sessions.ts'
import type { Deps } from '../deps.ts'

/** Ends a client's session and records it. A session that has ended, or was swept, stays as it is. */
export async function endClientSession(
  { pool, auditWriter, now }: Pick<Deps, 'pool' | 'auditWriter' | 'now'>,
  session: { realm: string; sid: string; clientId: string; subject: string },
  reason: EndReason,
): Promise<void> {
  const at = now()
  await inTransaction(pool, async (db) => {
    if (!(await endSession(db, session, reason, at))) return
    const { realm, sid, clientId, subject } = session
    await appendAudit(db, auditWriter, [
      { at, action: 'session_ended', realm, details: { sid, clientId, subject, reason } },
    ])
  })
}
