import type { Db } from './db.ts'

/** A recorded encryption key version; the keyring must hold it from then on. */
export interface SeenKeyVersion {
  version: number
  fingerprint: string
  state: string
  /** When the owner of the realm accepted that the key is lost. */
  acceptedLossAt: Date | null
}

export async function listKeyVersions(db: Db, realm: string): Promise<SeenKeyVersion[]> {
  const { rows } = await db.query<SeenKeyVersion>(
    `select version::integer as version, fingerprint, state, accepted_loss_at as "acceptedLossAt"
       from key_versions where realm = $1 order by version`,
    [realm],
  )
  return rows
}

/** Records versions and their present states. A fingerprint, once recorded, is never replaced. */
export async function recordKeyVersions(
  db: Db,
  realm: string,
  versions: { version: number; fingerprint: string; state: string }[],
  now: Date,
): Promise<void> {
  await db.query(
    `insert into key_versions (realm, version, fingerprint, state, first_seen)
     select $1, version, fingerprint, state, $5 from unnest($2::bigint[], $3::text[], $4::text[])
       as seen (version, fingerprint, state)
     on conflict on constraint key_versions_pkey do update set state = excluded.state
      where key_versions.fingerprint = excluded.fingerprint and key_versions.state <> excluded.state`,
    [
      realm,
      versions.map(({ version }) => version),
      versions.map(({ fingerprint }) => fingerprint),
      versions.map(({ state }) => state),
      now,
    ],
  )
}
