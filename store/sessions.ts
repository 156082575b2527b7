import type { Db } from './db.ts'

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
 * disabled, removed or got another password since it was read, or the client was removed. A transaction that changes or
 * removes either row waits for the locks, so that it ends this session too.
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
        idle_expires_at)
     select $1, $2::uuid, c.client_id, u.subject, $5, $6::timestamptz, $7::timestamptz, 0, $8, $6, $9::timestamptz
       from users u join clients c on c.realm = u.realm
      where u.realm = $1 and u.subject = $4 and u.enabled and u.password_source is not distinct from $10
        and c.client_id = $3 and c.resource_uid = $11
        for share of u for key share of c`,
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

/** One presented refresh token, and its successor. */
export interface Rotation {
  realm: string
  sid: string
  clientId: string
  /** The generation that the presented token carries. */
  generation: number
  now: Date
  graceSeconds: number
  successorKid: string
  successorIdleExpiresAt: Date
}

/** The current refresh token of a session: after this rotation, or after the former one. */
export interface Rotated {
  outcome: 'rotated' | 'repeated'
  generation: number
  refreshKid: string
  rotatedAt: Date
  idleExpiresAt: Date
  expiresAt: Date
}

export interface RotationRefused {
  outcome: 'absent' | 'ended' | 'expired' | 'reused'
}

/**
 * Rotates refresh tokens, RFC 9700 section 4.14.2: any number in one statement, no two of one session; the outcomes have
 * their order. Check and rotation of a session are one decision on its locked row, so of racing calls with one token
 * exactly one is 'rotated'. Within the grace the generation just before the current one is 'repeated' (the same
 * successor); anything older, or later than that, is 'reused', and the session ends.
 */
export async function rotateSessions(db: Db, rotations: Rotation[]): Promise<(Rotated | RotationRefused)[]> {
  // `old` locks the rows and sees their newest versions, so no other transaction changes them before the update. The
  // order of the locks is fixed, so two statements that share sessions cannot deadlock.
  const { rows } = await db.query<RotationRow>({
    name: 'rotate_sessions',
    text: `
      with wanted as (
        select *
          from unnest($1::text[], $2::uuid[], $3::text[], $4::integer[], $5::timestamptz[], $6::integer[], $7::text[],
                      $8::timestamptz[])
               with ordinality as w (realm, sid, client_id, generation, now, grace, successor_kid,
                                     successor_idle_expires_at, ord)
      ), old as (
        select w.ord, w.now, w.successor_kid, w.successor_idle_expires_at,
               s.realm, s.sid, s.generation, s.refresh_kid, s.rotated_at, s.idle_expires_at, s.expires_at,
               case
                 when s.client_id <> w.client_id then 'absent'
                 when s.ended_at is not null then 'ended'
                 when s.expires_at <= w.now then 'expired'
                 when s.generation = w.generation and s.idle_expires_at <= w.now then 'expired'
                 when s.generation = w.generation then 'rotated'
                 when s.generation = w.generation + 1 and w.grace > 0
                      and s.rotated_at > w.now - make_interval(secs => w.grace) then 'repeated'
                 when s.generation > w.generation then 'reused'
                 else 'absent'
               end as outcome
          from wanted w join sessions s on s.realm = w.realm and s.sid = w.sid
         order by s.realm, s.sid
           for update of s
      ), written as (
        update sessions s
           set generation      = case when old.outcome = 'rotated' then old.generation + 1 else old.generation end,
               refresh_kid     = case when old.outcome = 'rotated' then old.successor_kid else old.refresh_kid end,
               rotated_at      = case when old.outcome = 'rotated' then old.now else old.rotated_at end,
               idle_expires_at = case when old.outcome = 'rotated'
                                      then least(old.successor_idle_expires_at, old.expires_at)
                                      else old.idle_expires_at end,
               ended_at        = case when old.outcome = 'reused' then old.now end,
               end_reason      = case when old.outcome = 'reused' then 'refresh_token_reused' end
          from old
         where s.realm = old.realm and s.sid = old.sid and old.outcome in ('rotated', 'reused')
        returning old.ord, s.generation, s.refresh_kid, s.rotated_at, s.idle_expires_at
      )
      select old.ord::integer                                       as ord,
             old.outcome,
             coalesce(written.generation, old.generation)           as generation,
             coalesce(written.refresh_kid, old.refresh_kid)         as "refreshKid",
             coalesce(written.rotated_at, old.rotated_at)           as "rotatedAt",
             coalesce(written.idle_expires_at, old.idle_expires_at) as "idleExpiresAt",
             old.expires_at                                         as "expiresAt"
        from old left join written on written.ord = old.ord`,
    values: [
      rotations.map(({ realm }) => realm),
      rotations.map(({ sid }) => sid),
      rotations.map(({ clientId }) => clientId),
      rotations.map(({ generation }) => generation),
      rotations.map(({ now }) => now),
      rotations.map(({ graceSeconds }) => graceSeconds),
      rotations.map(({ successorKid }) => successorKid),
      rotations.map(({ successorIdleExpiresAt }) => successorIdleExpiresAt),
    ],
  })
  const outcomes: (Rotated | RotationRefused)[] = rotations.map(() => ({ outcome: 'absent' }))
  for (const { ord, ...row } of rows) {
    const { outcome } = row
    outcomes[ord - 1] = outcome === 'rotated' || outcome === 'repeated' ? { ...row, outcome } : { outcome }
  }
  return outcomes
}

type RotationRow = Omit<Rotated, 'outcome'> & { ord: number; outcome: (Rotated | RotationRefused)['outcome'] }

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

/** Ends every session of a subject, a client or a whole realm; returns how many. */
export async function endSessions(
  db: Db,
  of: { realm: string; subject?: string; clientId?: string },
  reason: EndReason,
  now: Date,
): Promise<number> {
  const { rowCount } = await db.query(
    `update sessions set ended_at = $4, end_reason = $5
      where realm = $1 and ($2::text is null or subject = $2) and ($3::text is null or client_id = $3)
        and ended_at is null`,
    [of.realm, of.subject ?? null, of.clientId ?? null, now, reason],
  )
  return rowCount ?? 0
}

/** Deletes expired sessions; at most `limit` a call, so that no call holds locks for long. */
export async function sweepSessions(db: Db, now: Date, limit = 5_000): Promise<number> {
  const { rowCount } = await db.query(
    `delete from sessions where (realm, sid) in
       (select realm, sid from sessions where expires_at <= $1 order by expires_at limit $2 for update skip locked)`,
    [now, limit],
  )
  return rowCount ?? 0
}
