import type { KeyRecord, NamedKey } from '../keyring/continuity.ts'
import type { Db } from './db.ts'
import { listKeyVersions } from './key_versions.ts'
import type { SeenKeyVersion } from './key_versions.ts'

/** What is recorded of the keyring of a realm; servers use no keyring that contradicts it. */
export interface KeyringRecord extends KeyRecord {
  /** The Realm resource that owns the keyring. Undefined until a keyring was accepted. */
  owner: { namespace: string; name: string } | undefined
  versions: SeenKeyVersion[]
}

export async function findKeyringRecord(db: Db, realm: string): Promise<KeyringRecord> {
  const keyrings = await db.query<{ namespace: string; name: string; isExternal: boolean }>(
    `select owner_namespace as namespace, owner_name as name, is_external as "isExternal"
       from keyring_records where realm = $1`,
    [realm],
  )
  const keys = await db.query<KeyringRecord['keys'][number]>(
    `select kind, name, state, accepted_loss_at as "acceptedLossAt" from recorded_keys where realm = $1
      order by recorded_at, kind, name`,
    [realm],
  )
  const [keyring] = keyrings.rows
  return {
    owner: keyring && { namespace: keyring.namespace, name: keyring.name },
    isExternal: keyring?.isExternal ?? false,
    keys: keys.rows,
    versions: await listKeyVersions(db, realm),
  }
}

/** Records keys that are about to be stored: servers may then use them, and their absence is no loss. */
export async function announceKeys(db: Db, realm: string, keys: readonly NamedKey[], now: Date): Promise<void> {
  await db.query(
    `insert into recorded_keys (realm, kind, name, state, recorded_at)
     select $1, kind, name, 'announced', $4 from unnest($2::text[], $3::text[]) as key (kind, name)
     on conflict on constraint recorded_keys_pkey do nothing`,
    [realm, keys.map(({ kind }) => kind), keys.map(({ name }) => name), now],
  )
}

/**
 * Records the signing and refresh keys that a keyring holds, with their states; recorded ones that it lacks become
 * `removed`. `recordKeyVersions` does it for encryption keys.
 */
export async function recordTokenKeys(db: Db, realm: string, all: readonly NamedKey[], now: Date): Promise<void> {
  const keys = all.filter(({ kind }) => kind !== 'encryption')
  const kinds = keys.map(({ kind }) => kind)
  const names = keys.map(({ name }) => name)
  await db.query(
    `insert into recorded_keys (realm, kind, name, state, recorded_at)
     select $1, kind, name, state, $5 from unnest($2::text[], $3::text[], $4::text[]) as key (kind, name, state)
     on conflict on constraint recorded_keys_pkey do update set state = excluded.state, accepted_loss_at = null
      where recorded_keys.state <> excluded.state or recorded_keys.accepted_loss_at is not null`,
    [realm, kinds, names, keys.map(({ state }) => state), now],
  )
  await db.query(
    `update recorded_keys set state = 'removed' where realm = $1 and kind <> 'encryption' and state <> 'removed'
        and (kind, name) not in (select * from unnest($2::text[], $3::text[]))`,
    [realm, kinds, names],
  )
}

/** Records the owner of a keyring, and whether another writer manages it. */
export async function recordKeyring(
  db: Db,
  realm: string,
  { owner, isExternal }: { owner: { namespace: string; name: string }; isExternal: boolean },
): Promise<void> {
  await db.query(
    `insert into keyring_records (realm, owner_namespace, owner_name, is_external) values ($1, $2, $3, $4)
     on conflict on constraint keyring_records_pkey do update
        set owner_namespace = $2, owner_name = $3, is_external = $4`,
    [realm, owner.namespace, owner.name, isExternal],
  )
}

/** Records that the owner of the realm accepts the loss of these keys: a keyring without them is valid again. */
export async function acceptKeyLoss(db: Db, realm: string, names: readonly string[], now: Date): Promise<void> {
  for (const [table, name] of [
    ['key_versions', 'fingerprint'],
    ['recorded_keys', 'name'],
  ]) {
    await db.query(
      `update ${table} set accepted_loss_at = $3
        where realm = $1 and ${name} = any ($2) and accepted_loss_at is null`,
      [realm, names, now],
    )
  }
}

/** Deletes the records of a realm whose keyring was deleted with it. */
export async function deleteKeyringRecord(db: Db, realm: string): Promise<void> {
  for (const table of ['keyring_records', 'recorded_keys', 'key_versions']) {
    await db.query(`delete from ${table} where realm = $1`, [realm])
  }
}
