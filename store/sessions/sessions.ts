import type { Db } from '../db.ts'

const SESSION_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Whether a value has the shape of a session id. Postgres rejects another, with all requests that share the statement. */
export function isSessionId(value: unknown): value is string {
  return typeof value === 'string' && SESSION_ID.test(value)
}

/** A new session. Its first refresh token has generation 0. */
export interface NewSession {
  realm: string
  sid: string
  clientId: string
  subject: string
  /** As requested by the client; each refresh evaluates it against the present roles. */
  requestedScope: string
  authTime: Date
  /** The end of the session, which a refresh does not extend. */
  expiresAt: Date
  /** The end of the first refresh token. */
  idleExpiresAt: Date
  /** The key that signed the current refresh token, so that a repeated answer carries the same token. */
  refreshKid: string
}

/** The state of user and client that the login was checked against. */
export interface LoginProof {
  passwordSource: string | null
  /** `resourceUid` of the client. */
  clientUid: string
}

/**
 * Starts the session of a login that proved the user's password. Returns false, without writing, when the user was
 * disabled, removed or got another password since it was read, or the client or the realm was removed. A transaction that
 * changes or removes one of these rows waits for the locks, so that it ends this session too.
 */
export async function startSession(
  db: Db,
  session: NewSession,
  { passwordSource, clientUid }: LoginProof,
): Promise<boolean> {
  const { rowCount } = await db.query({
    name: 'start_session',
    text: `insert into sessions
       (realm, sid, client_id, subject, requested_scope, auth_time, expires_at, generation, refresh_kid, rotated_at,
        idle_expires_at, ends_seen)
     select $1, $2::uuid, c.client_id, u.subject, $5, $6::timestamptz, $7::timestamptz, 0, $8, $6, $9::timestamptz,
            (select last_id from session_end_counter)
       from users u join clients c on c.realm = u.realm join realms r on r.realm = u.realm
      where u.realm = $1 and u.subject = $4 and u.enabled and u.password_source is not distinct from $10
        and c.client_id = $3 and c.resource_uid = $11
        for share of u for key share of c, r`,
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
      passwordSource,
      clientUid,
    ],
  })
  return rowCount === 1
}

/** Why a session ended, in its row and in the audit log. */
export type EndReason =
  | 'logout'
  | 'revoked'
  | 'refresh_token_reused'
  | 'user_removed'
  | 'client_removed'
  | 'realm_removed'
  | 'password_changed'

/** Ends one session of one client. True when it was this call that ended it. */
export async function endSession(
  db: Db,
  session: { realm: string; sid: string; clientId: string },
  reason: EndReason,
  now: Date,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update sessions set ended_at = $4, end_reason = $5
      where realm = $1 and sid = $2 and client_id = $3 and ended_at is null`,
    [session.realm, session.sid, session.clientId, now, reason],
  )
  return rowCount === 1
}

/** Deletes expired sessions; at most `limit` a call, so that no call holds locks for long. */
export async function sweepSessions(db: Db, now: Date, limit = 1_000): Promise<number> {
  const { rowCount } = await db.query(
    `delete from sessions where (realm, sid) in
       (select realm, sid from sessions where expires_at <= $1 order by expires_at limit $2 for update skip locked)`,
    [now, limit],
  )
  return rowCount ?? 0
}
