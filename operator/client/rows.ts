import { noteChange } from '../../store/changes.ts'
import { deleteClient, findClientByUid, hashClientSecret, isClientSecret, upsertClient } from '../../store/clients.ts'
import type { ClientRow, ClientWithoutSecret, SecretColumn } from '../../store/clients.ts'
import type { Db } from '../../store/db.ts'
import type { ReconcilerDeps } from '../deps.ts'
import { endSessionsOf } from '../rows/ended_sessions.ts'
import type { RowSource } from '../rows/known_table.ts'
import { NotYet } from '../view/view.ts'
import { pathOf } from '../view/resource_types.ts'

/** A row to write. */
export interface ClientWrite {
  row: ClientWithoutSecret
  /** Null: the client has none. Undefined: the row keeps its secret. */
  secret: string | null | undefined
  /** How long a replaced secret stays valid. */
  previousValidSeconds: number
}

type Deps = Pick<ReconcilerDeps, 'store' | 'rows'>

/** Writes one row in one transaction; undefined when another resource holds the client id. Throws NotYet when the row with the secret to keep is gone. */
export async function saveClient(deps: Deps, write: ClientWrite): Promise<ClientRow | undefined> {
  const { store, rows } = deps
  const uid = write.row.resourceUid
  await removeFormerClient(deps, write.row)
  return rows.clients.write(uid, async () => {
    const now = store.now()
    const written = await store.transaction(async (db) => {
      const present = await findClientByUid(db, uid)
      if (!present && write.secret === undefined) return 'row_dropped'
      const row = { ...write.row, ...secretColumns(write, present, now) }
      if (!(await upsertClient(db, row))) return undefined
      await noteChange(db, { realm: row.realm, kind: 'client', key: row.clientId }, now)
      return row
    })
    if (written === 'row_dropped') {
      rows.clients.deleted(uid)
      throw new NotYet('another client of the database deleted the row; the operator writes it again')
    }
    if (written) rows.clients.written(written)
    return written
  })
}

const NO_SECRET = { secretSalt: null, secretHash: null }
const NO_PREVIOUS = { previousSecretSalt: null, previousSecretHash: null, previousValidUntil: null }

/** The columns of the secret and of the former secret, which a rotation keeps valid for a while. */
function secretColumns(
  { secret, previousValidSeconds }: ClientWrite,
  present: ClientRow | undefined,
  now: Date,
): Pick<ClientRow, SecretColumn> {
  if (secret === null) return { ...NO_SECRET, ...NO_PREVIOUS }
  const current = present?.secretSalt && present.secretHash && { salt: present.secretSalt, hash: present.secretHash }
  // The same value in a changed Secret is no rotation.
  if (present && (secret === undefined || (current && isClientSecret(secret, current)))) {
    const { secretSalt, secretHash } = present
    return { secretSalt, secretHash, ...previousColumns(present, previousValidSeconds, now) }
  }
  const { salt, hash } = hashClientSecret(secret ?? '')
  const replaced = { secretSalt: salt, secretHash: hash }
  if (!current || previousValidSeconds === 0) return { ...replaced, ...NO_PREVIOUS }
  const previousValidUntil = new Date(now.getTime() + previousValidSeconds * 1000)
  return { ...replaced, previousSecretSalt: current.salt, previousSecretHash: current.hash, previousValidUntil }
}

function previousColumns(present: ClientRow, previousValidSeconds: number, now: Date) {
  const isOver = present.previousValidUntil === null || present.previousValidUntil <= now
  if (isOver || previousValidSeconds === 0) return NO_PREVIOUS
  const { previousSecretSalt, previousSecretHash, previousValidUntil } = present
  return { previousSecretSalt, previousSecretHash, previousValidUntil }
}

/** Deletes a Client's row, and its sessions end. True when there was one. */
export async function removeClient(deps: Deps, resourceUid: string): Promise<boolean> {
  return deleteRow(deps, resourceUid, (db, { realm, clientId }) =>
    endSessionsOf(db, { realm, clientId }, 'client_removed', deps.store),
  )
}

/** Removes the row of a former Client with this `namespace/name` and another uid. */
export async function removeFormerClient(deps: Deps, of: RowSource): Promise<void> {
  const former = deps.rows.clients.atPath(pathOf(of))
  if (former && former.resourceUid !== of.resourceUid) await removeClient(deps, former.resourceUid)
}

/** Deletes the row of a Client that its realm does not admit. Sessions stay, and are valid again when the Client is. */
export async function withdrawClient(deps: Deps, resourceUid: string): Promise<boolean> {
  if (!deps.rows.clients.get(resourceUid)) return false
  return deleteRow(deps, resourceUid, async () => {})
}

async function deleteRow(
  { store, rows }: Deps,
  resourceUid: string,
  also: (db: Db, row: { realm: string; clientId: string }) => Promise<void>,
): Promise<boolean> {
  return rows.clients.write(resourceUid, async () => {
    const removed = await store.transaction(async (db) => {
      const row = await deleteClient(db, resourceUid)
      if (!row) return false
      await also(db, row)
      await noteChange(db, { realm: row.realm, kind: 'client', key: row.clientId }, store.now())
      return true
    })
    rows.clients.deleted(resourceUid)
    return removed
  })
}
