import { readChanges } from '../../store/changes.ts'
import type { Change } from '../../store/changes.ts'
import { findClient, listClients, listClientsOf } from '../../store/clients.ts'
import type { ClientRow } from '../../store/clients.ts'
import type { Db } from '../../store/db.ts'
import { findRealm, listRealms } from '../../store/realms.ts'
import type { RealmRow } from '../../store/realms.ts'

/** A copy in memory of every realm's and client's row, updated from the change log. */
export interface RealmMirror {
  realm(realm: string): RealmRow | undefined
  client(realm: string, clientId: string): ClientRow | undefined
  realms(): RealmRow[]
  /** False until every row was read once. */
  isLoaded(): boolean
  /**
   * Reads what changed since the last call over the same connection. A new connection may lead to a standby or a restored
   * backup with another history, so every row is read. After an error the next call reads the same changes again.
   */
  catchUp(db: Db): Promise<void>
}

/** Above this number of changes, reading every row is less work. */
const MANY_CHANGES = 200

/** `onRealms` is called after a realm's row was added, changed or removed. */
export function createRealmMirror(onRealms: () => void): RealmMirror {
  let realms = new Map<string, RealmRow>()
  let clients = new Map<string, Map<string, ClientRow>>()
  let lastId = 0
  let isLoaded = false
  let lastConnection: Db | undefined

  async function readAll(db: Db): Promise<void> {
    const [realmRows, clientRows] = [await listRealms(db), await listClients(db)]
    realms = new Map(realmRows.map((row) => [row.realm, row]))
    clients = new Map()
    for (const row of clientRows) setClient(row)
  }

  function setClient(row: ClientRow): void {
    const ofRealm = clients.get(row.realm)
    if (ofRealm) ofRealm.set(row.clientId, row)
    else clients.set(row.realm, new Map([[row.clientId, row]]))
  }

  async function readRealm(db: Db, realm: string): Promise<void> {
    const row = await findRealm(db, realm)
    // A realm that was removed and added between two reads has other clients, which the log need not list.
    const clientRows = await listClientsOf(db, realm)
    if (row) realms.set(realm, row)
    else realms.delete(realm)
    clients.delete(realm)
    for (const client of clientRows) setClient(client)
  }

  async function readClient(db: Db, realm: string, clientId: string): Promise<void> {
    const row = await findClient(db, realm, clientId)
    if (row) setClient(row)
    else clients.get(realm)?.delete(clientId)
  }

  async function readChanged(db: Db, changes: Change[]): Promise<void> {
    const changedRealms = new Set(changes.filter(({ kind }) => kind === 'realm').map(({ realm }) => realm))
    for (const realm of changedRealms) await readRealm(db, realm)
    const changedClients = new Map(changes.map((change) => [`${change.realm} ${change.key}`, change]))
    for (const { kind, realm, key } of changedClients.values()) {
      if (kind === 'client' && !changedRealms.has(realm)) await readClient(db, realm, key)
    }
  }

  return {
    realm: (realm) => realms.get(realm),
    client: (realm, clientId) => clients.get(realm)?.get(clientId),
    realms: () => [...realms.values()],
    isLoaded: () => isLoaded,
    async catchUp(db) {
      // The log before the rows: rows may be newer than the stored number, never older.
      const log = await readChanges(db, lastId, MANY_CHANGES)
      const isFullRead = db !== lastConnection || !log.complete
      if (isFullRead) await readAll(db)
      else await readChanged(db, log.changes)
      lastId = log.lastId
      lastConnection = db
      isLoaded = true
      if (isFullRead || log.changes.some(({ kind }) => kind === 'realm')) onRealms()
    },
  }
}
