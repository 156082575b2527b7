import type { Db } from '../../store/db.ts'

/** Inserts open sessions of one client, as many for each subject as for another. Returns how many. */
export async function insertManySessions(
  db: Db,
  many: { realm: string; clientId: string; subjects: string[]; count: number },
): Promise<number> {
  const { rowCount } = await db.query(
    `insert into sessions (realm, sid, client_id, subject, requested_scope, auth_time, expires_at, generation,
                           refresh_kid, rotated_at, idle_expires_at, ends_seen)
     select $1, gen_random_uuid(), $2, ($3::text[])[1 + n % cardinality($3::text[])], 'openid', now(),
            now() + interval '10 hours', 0, 'kid', now(), now() + interval '30 minutes',
            (select last_id from session_end_counter)
       from generate_series(1, $4::integer) n`,
    [many.realm, many.clientId, many.subjects, many.count],
  )
  return rowCount ?? 0
}

export async function countOpenSessions(db: Db, realm: string): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    'select count(*)::int as n from sessions where realm = $1 and ended_at is null',
    [realm],
  )
  return rows[0]?.n ?? 0
}
