import type { Db } from './db.ts'

/** How long after its last beat a replica counts as live. Seconds. */
const REPLICA_LIVE_SECONDS = 30

/** A server process and its keys: by realm, kids of signing and refresh keys and fingerprints of encryption keys. */
export interface Replica {
  id: string
  fingerprints: Record<string, string[]>
}

export async function beat(db: Db, replica: Replica, kind: 'server' | 'operator', now: Date): Promise<void> {
  await db.query(
    `insert into replicas (id, kind, fingerprints, beat_at) values ($1, $2, $3, $4)
     on conflict (id) do update set fingerprints = excluded.fingerprints, beat_at = excluded.beat_at`,
    [replica.id, kind, JSON.stringify(replica.fingerprints), now],
  )
}

export async function listLiveReplicas(db: Db, now: Date): Promise<Replica[]> {
  const { rows } = await db.query<Replica>(
    `select id, fingerprints from replicas
      where kind = 'server' and beat_at > $1::timestamptz - make_interval(secs => $2) order by id`,
    [now, REPLICA_LIVE_SECONDS],
  )
  return rows
}

/** Called by a replica that drains, so that no key rotation waits for it. */
export async function removeReplica(db: Db, id: string): Promise<void> {
  await db.query('delete from replicas where id = $1', [id])
}

export async function sweepReplicas(db: Db, now: Date): Promise<void> {
  await db.query(`delete from replicas where beat_at < $1::timestamptz - interval '1 day'`, [now])
}
