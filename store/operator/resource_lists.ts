import type { Db } from '../db.ts'

/** The identity of each kind's list that the rows of that kind were made from. */
export async function listIdentities(db: Db): Promise<Map<string, string>> {
  const { rows } = await db.query<{ kind: string; identity: string }>('select kind, identity from resource_lists')
  return new Map(rows.map(({ kind, identity }) => [kind, identity]))
}

export async function recordIdentity(db: Db, kind: string, identity: string): Promise<void> {
  await db.query(
    `insert into resource_lists (kind, identity) values ($1, $2)
     on conflict (kind) do update set identity = excluded.identity`,
    [kind, identity],
  )
}
