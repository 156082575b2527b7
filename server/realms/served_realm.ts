import type { LoadedKeyring } from '../../keyring/loaded_keyring.ts'
import type { ClientRow } from '../../store/clients.ts'
import type { RealmRow } from '../../store/realms.ts'

/** A realm as it is served at this moment: its row, its clients, its keys. */
export interface ServedRealm {
  name: string
  row: RealmRow
  /** `{base}/auth/realms/<realm>`, whatever path or Host a request used. */
  issuer: string
  /** A client of this realm; from a cache only while the change log is followed. */
  findClient(clientId: string): Promise<ClientRow | undefined>
  /** Throws 503 `keyring_unavailable` while no good keyring was ever loaded. */
  keyring(): LoadedKeyring
}

/** Finds realms by name. The cache behind it is bypassed while the change log is not followed. */
export interface Realms {
  find(realm: string): Promise<ServedRealm | undefined>
  /** The last known state, for what is answered while Postgres is away: discovery, certs and realm info. */
  findLastKnown(realm: string): Promise<ServedRealm | undefined>
}
