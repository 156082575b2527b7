import type { Db } from '../db.ts'
import type { EndReason } from './sessions.ts'

/** The sessions of a subject, of a client, or of a whole realm. */
export interface SessionOwner {
  realm: string
  subject?: string
  clientId?: string
}

/** All sessions of an owner that began before it have ended; their rows are deleted in batches. */
export interface SessionEnd extends SessionOwner {
  id: number
  reason: EndReason
  /** The last session that was deleted; null before the first. */
  afterSid: string | null
}

/** Rows that the transaction of an end writes. More would make it long. */
const ENDED_AT_ONCE = 1_000

/**
 * Whether an end covers a session. Every statement that decides on a session has it, so that an end takes effect with
 * its commit. The table is empty unless an owner with many sessions was removed lately.
 * @param s the alias of `sessions`
 */
export const COVERED_BY_END = (s: string): string => `
  exists (select from session_ends e
           where e.realm = ${s}.realm
             and e.target = any (array['realm', 'client ' || ${s}.client_id, 'subject ' || ${s}.subject])
             and e.id > ${s}.ends_seen)`

/**
 * Ends every session of an owner in the caller's transaction, which has locked or deleted the row that logins lock. The
 * rows of at most `limit` sessions say so; with more, a row of `session_ends` covers the rest, and `isComplete` is
 * false: see `deleteEndedSessions`.
 */
export async function endSessions(
  db: Db,
  owner: SessionOwner,
  reason: EndReason,
  now: Date,
  limit = ENDED_AT_ONCE,
): Promise<{ ended: number; isComplete: boolean }> {
  const { condition, values } = sessionsOf(owner)
  // A row that another statement holds is left to the end: waiting for it could deadlock.
  const { rowCount } = await db.query(
    `update sessions s set ended_at = $3, end_reason = $4
       from (select realm, sid from sessions where ${condition} and ended_at is null
              order by sid limit $5 for update skip locked) b
      where s.realm = b.realm and s.sid = b.sid`,
    [...values, now, reason, limit],
  )
  const ended = rowCount ?? 0
  if (!(await hasSession(db, `${condition} and ended_at is null`, values))) return { ended, isComplete: true }
  await db.query(
    `with next as (update session_end_counter set last_id = last_id + 1 returning last_id)
     insert into session_ends (realm, target, id, reason, at) select $1, $2, last_id, $3, $4 from next
     on conflict on constraint session_ends_pkey do update
        set id = excluded.id, reason = excluded.reason, at = excluded.at, after_sid = null`,
    [owner.realm, targetOf(owner), reason, now],
  )
  return { ended, isComplete: false }
}

/** The oldest end whose sessions are not all deleted. */
export async function findSessionEnd(db: Db): Promise<SessionEnd | undefined> {
  const { rows } = await db.query<Pick<SessionEnd, 'realm' | 'reason' | 'afterSid'> & { target: string; id: string }>(
    'select realm, target, id, reason, after_sid as "afterSid" from session_ends order by id limit 1',
  )
  const [row] = rows
  if (!row) return undefined
  const { target, id, ...end } = row
  return { ...end, ...ownerIn(target), id: Number(id) }
}

/**
 * Deletes at most `limit` sessions that an end covers. A deletion, because an update of so many rows doubles the table.
 * Each batch begins after the last one: deleted rows stay in the indexes while any transaction may see them. When none
 * is left, the end is deleted too, and `total` is the number of sessions that were deleted for it.
 */
export async function deleteEndedSessions(
  db: Db,
  end: SessionEnd,
  limit: number,
): Promise<{ deleted: number; total?: number }> {
  const { condition, values } = sessionsOf(end)
  const covered = `${condition} and ended_at is null and ends_seen < $3`
  const { rows: batch } = await db.query<{ sid: string }>(
    `select sid from sessions where ${covered} and ($4::uuid is null or sid > $4)
      order by sid limit $5 for update skip locked`,
    [...values, end.id, end.afterSid, limit],
  )
  const sids = batch.map(({ sid }) => sid)
  const { rowCount } = await db.query('delete from sessions where realm = $1 and sid = any ($2)', [end.realm, sids])
  const deleted = rowCount ?? 0
  const key = [end.realm, targetOf(end), end.id]
  // After the last batch from the beginning again, for the rows that other transactions held.
  const { rows } = await db.query<{ deleted: string }>(
    `update session_ends set deleted = deleted + $4, after_sid = $5
      where realm = $1 and target = $2 and id = $3 returning deleted`,
    [...key, deleted, sids.length === limit ? sids.at(-1) : null],
  )
  // A later end took its place.
  if (!rows[0] || sids.length === limit || (await hasSession(db, covered, [...values, end.id]))) return { deleted }
  await db.query('delete from session_ends where realm = $1 and target = $2 and id = $3', key)
  return { deleted, total: Number(rows[0].deleted) }
}

async function hasSession(db: Db, condition: string, values: unknown[]): Promise<boolean> {
  const { rows } = await db.query(`select from sessions where ${condition} order by sid limit 1`, values)
  return rows.length > 0
}

/** One text for each owner, so that each finds its index. */
function sessionsOf({ realm, subject, clientId }: SessionOwner): { condition: string; values: [string, string] } {
  if (subject !== undefined) return { condition: 'realm = $1 and subject = $2', values: [realm, subject] }
  if (clientId !== undefined) return { condition: 'realm = $1 and client_id = $2', values: [realm, clientId] }
  // Always true: the other conditions have a second parameter.
  return { condition: 'realm = $1 and $2::text is not null', values: [realm, ''] }
}

function targetOf({ subject, clientId }: SessionOwner): string {
  if (subject !== undefined) return `subject ${subject}`
  return clientId === undefined ? 'realm' : `client ${clientId}`
}

function ownerIn(target: string): Pick<SessionOwner, 'subject' | 'clientId'> {
  const at = target.indexOf(' ')
  const name = target.slice(at + 1)
  if (target.startsWith('subject ')) return { subject: name }
  return target.startsWith('client ') ? { clientId: name } : {}
}
