import type { Db } from '../db.ts'
import type { UserRow } from '../users.ts'
import { COVERED_BY_END } from './session_ends.ts'

/** A session with the state of its user and grants, read from the rows for each request and never cached. */
export interface LiveSession {
  realm: string
  sid: string
  clientId: string
  requestedScope: string
  authTime: Date
  expiresAt: Date
  ended: boolean
  generation: number
  /** Null when the user was removed. */
  user: SessionUser | null
  /** Granted to the user and to the realm's default group, not expired; includes roles that the realm does not define. */
  grantedRoles: string[]
}

/** What tokens, userinfo and field encryption need of a user. */
export type SessionUser = Pick<
  UserRow,
  'subject' | 'username' | 'email' | 'emailVerified' | 'firstName' | 'lastName' | 'enabled' | 'subjectPinned'
>

export interface SessionKey {
  realm: string
  sid: string
}

/** The roles granted to a subject. The statement compares the expiry, so that expiry holds while the operator is down. */
const GRANTED = (realm: string, subject: string, now: string): string => `
  array(select distinct g.role
          from granted_roles g
         where g.realm = ${realm}
           and ((g.subject_kind = 'User' and g.subject = ${subject})
             or (g.subject_kind = 'Group' and g.subject = 'default-roles-' || ${realm}))
           and (g.expires_at is null or g.expires_at > ${now}))`

/** Roles granted to a subject now, directly and through the realm's default group. */
export async function findEffectiveGrants(db: Db, realm: string, subject: string, now: Date): Promise<string[]> {
  const { rows } = await db.query<{ roles: string[] }>({
    name: 'find_effective_grants',
    text: `select ${GRANTED('$1', '$2', '$3')} as roles`,
    values: [realm, subject, now],
  })
  return rows[0]?.roles ?? []
}

/**
 * Reads any number of sessions in one statement, so that concurrent requests share a round trip. The result has the
 * order of the keys, with undefined for an unknown session.
 */
export async function findLiveSessions(db: Db, keys: SessionKey[], now: Date): Promise<(LiveSession | undefined)[]> {
  const { rows } = await db.query<LiveSessionRow & { ord: number }>({
    name: 'find_live_sessions',
    text: `
      select wanted.ord::integer as ord, s.realm, s.sid, s.client_id as "clientId", s.requested_scope as "requestedScope",
             s.auth_time as "authTime", s.expires_at as "expiresAt", s.generation,
             s.ended_at is not null or ${COVERED_BY_END('s')} as ended,
             u.subject, u.username, u.email, u.email_verified as "emailVerified", u.first_name as "firstName",
             u.last_name as "lastName", u.enabled, u.subject_pinned as "subjectPinned",
             ${GRANTED('s.realm', 's.subject', '$3')} as "grantedRoles"
        from unnest($1::text[], $2::uuid[]) with ordinality as wanted (realm, sid, ord)
        join sessions s on s.realm = wanted.realm and s.sid = wanted.sid
        left join users u on u.realm = s.realm and u.subject = s.subject`,
    values: [keys.map(({ realm }) => realm), keys.map(({ sid }) => sid), now],
  })
  const found: (LiveSession | undefined)[] = keys.map(() => undefined)
  for (const row of rows) found[row.ord - 1] = toLiveSession(row)
  return found
}

/** Without a user, `subject` and all members of the user are null. */
interface LiveSessionRow extends Omit<LiveSession, 'user'>, Omit<SessionUser, 'subject'> {
  subject: string | null
}

/** Names each member: copying the rest of an object costs several times as much, and each request pays for it. */
function toLiveSession(row: LiveSessionRow): LiveSession {
  const { realm, sid, clientId, requestedScope, authTime, expiresAt, ended, generation, grantedRoles } = row
  const user = row.subject === null ? null : toSessionUser(row, row.subject)
  return { realm, sid, clientId, requestedScope, authTime, expiresAt, ended, generation, user, grantedRoles }
}

function toSessionUser(row: LiveSessionRow, subject: string): SessionUser {
  const { username, email, emailVerified, firstName, lastName, enabled, subjectPinned } = row
  return { subject, username, email, emailVerified, firstName, lastName, enabled, subjectPinned }
}
