import type { Db } from '../../store/db.ts'
import type { NewSession } from '../../store/sessions/sessions.ts'

/** Inserts a session, also for a subject without a user. */
export async function insertSession(db: Db, session: NewSession): Promise<void> {
  await db.query({
    name: 'insert_session',
    text: `insert into sessions
       (realm, sid, client_id, subject, requested_scope, auth_time, expires_at, generation, refresh_kid, rotated_at,
        idle_expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, 0, $8, $6, $9)`,
    values: [
      session.realm,
      session.sid,
      session.clientId,
      session.subject,
      session.requestedScope,
      session.authTime,
      session.expiresAt,
      session.refreshKid,
      session.idleExpiresAt,
    ],
  })
}
