import type { Db } from './db.ts'

/** The channel that wakes readers of the change log. A notification is empty: readers read the log. */
export const CHANGES_CHANNEL = 'realmkeeper_changes'

/** One change of configuration that servers cache: a realm's row, or one client's. */
export interface Change {
  id: number
  realm: string
  kind: 'realm' | 'client'
  /** The client id; the realm's name for a realm. */
  key: string
}

/**
 * Appends to the change log, as the last statement of a transaction: the counter's row stays locked until commit,
 * so numbers become visible in order.
 */
export async function noteChange(db: Db, change: Omit<Change, 'id'>, now: Date): Promise<void> {
  await db.query(
    `with next as (update change_counter set last_id = last_id + 1 returning last_id)
     insert into changes (id, realm, kind, key, at)
     select last_id, $1, $2, $3, $4 from next
     returning pg_notify('${CHANGES_CHANNEL}', '')`,
    [change.realm, change.kind, change.key, now],
  )
}

/**
 * The first `limit` changes after `since`. `complete` is false when there are more, when some were swept or when the log
 * was recreated: the reader then drops its cache.
 */
export async function readChanges(
  db: Db,
  since: number,
  limit = 200,
): Promise<{ lastId: number; complete: boolean; changes: Change[] }> {
  const { rows } = await db.query<{ lastId: string; oldestId: string | null; changes: Change[] | null }>({
    name: 'read_changes',
    text: `
      select c.last_id as "lastId",
             (select min(id) from changes) as "oldestId",
             (select json_agg(json_build_object('id', id, 'realm', realm, 'kind', kind, 'key', key) order by id)
                from (select * from changes where id > $1 order by id limit $2 + 1) first) as changes
        from change_counter c`,
    values: [since, limit],
  })
  const row = rows[0]
  if (!row) return { lastId: 0, complete: false, changes: [] }
  const lastId = Number(row.lastId)
  const oldestId = row.oldestId === null ? lastId + 1 : Number(row.oldestId)
  const changes = row.changes ?? []
  return { lastId, complete: since <= lastId && oldestId <= since + 1 && changes.length <= limit, changes }
}

/** Deletes entries that are an hour old: by then every reader has read them or starts over. */
export async function sweepChanges(db: Db, now: Date): Promise<void> {
  await db.query(`delete from changes where at < $1::timestamptz - interval '1 hour'`, [now])
}
