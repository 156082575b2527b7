import type { Db } from '../db.ts'

/** The identity of the list that the rows of a kind and namespace were made from. */
export interface ListIdentity {
  kind: string
  /** Empty for every namespace without an entry of its own. */
  namespace: string
  identity: string
}

export async function listIdentities(db: Db): Promise<ListIdentity[]> {
  const { rows } = await db.query<ListIdentity>('select kind, namespace, identity from resource_lists')
  return rows
}

export async function recordIdentity(db: Db, { kind, namespace, identity }: ListIdentity): Promise<void> {
  await db.query(
    `insert into resource_lists (kind, namespace, identity) values ($1, $2, $3)
     on conflict on constraint resource_lists_pkey do update set identity = excluded.identity`,
    [kind, namespace, identity],
  )
}

/** Deletes the entries of single namespaces. */
export async function forgetNamespaces(db: Db, kind: string): Promise<void> {
  await db.query(`delete from resource_lists where kind = $1 and namespace <> ''`, [kind])
}
