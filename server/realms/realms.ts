import type { Pool } from 'pg'
import { findClient } from '../../store/clients.ts'
import type { ClientRow } from '../../store/clients.ts'
import type { LoadedKeyring } from '../../keyring/loaded_keyring.ts'
import { issuerOf } from '../../process/issuer.ts'
import { findRealm } from '../../store/realms.ts'
import type { RealmRow } from '../../store/realms.ts'
import { OAuthError } from '../http/oauth_error.ts'
import type { RealmMirror } from './realm_mirror.ts'

/** A realm as it is served at this moment: its row, its clients, its keys. */
export interface ServedRealm {
  name: string
  row: RealmRow
  /** `{base}/auth/realms/<realm>`, independent of a request's path and Host. */
  issuer: string
  /** A client of this realm; from memory only while the change log is followed. */
  findClient(clientId: string): Promise<ClientRow | undefined>
  /** @throws OAuthError 503 `keyring_unavailable` while no good keyring was ever loaded */
  keyring(): LoadedKeyring
}

/** Finds realms by name: in memory while the change log is followed, and in Postgres otherwise. */
export interface Realms {
  /** @throws OAuthError 503 until the realms were read for the first time */
  find(realm: string): Promise<ServedRealm | undefined>
  /** The last known state, for the answers that continue while Postgres is away: discovery, certs and realm info. */
  findLastKnown(realm: string): Promise<ServedRealm | undefined>
}

export interface RealmsOptions {
  pool: Pool
  /** Issuers begin with it; no slash at its end. */
  baseUrl: string
  mirror: Pick<RealmMirror, 'realm' | 'client' | 'isLoaded'>
  /** Whether the mirror is at most two seconds behind. While it is not, every row is read from Postgres. */
  isFresh: () => boolean
  /** Throws OAuthError 503 while the realm has no good keyring. */
  keyringOf: (realm: string) => LoadedKeyring
}

/** DNS labels (RFC 1123). No other name is looked up. */
const REALM = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

export function createRealms({ pool, baseUrl, mirror, isFresh, keyringOf }: RealmsOptions): Realms {
  // One object for each row, so that a request allocates none.
  const servedByRow = new WeakMap<RealmRow, ServedRealm>()

  function serve(row: RealmRow): ServedRealm {
    const known = servedByRow.get(row)
    if (known) return known
    const { realm } = row
    const served: ServedRealm = {
      name: realm,
      row,
      issuer: issuerOf(baseUrl, realm),
      findClient: (clientId) => findOneClient(realm, clientId),
      keyring: () => keyringOf(realm),
    }
    servedByRow.set(row, served)
    return served
  }

  async function findOneClient(realm: string, clientId: string): Promise<ClientRow | undefined> {
    return isFresh() ? mirror.client(realm, clientId) : findClient(pool, realm, clientId)
  }

  async function find(realm: string): Promise<ServedRealm | undefined> {
    if (!REALM.test(realm)) return undefined
    // Until the change log was read once it is unknown whether this process can read the schema.
    if (!mirror.isLoaded()) throw new OAuthError('temporarily_unavailable', 'The service is not available right now')
    const row = isFresh() ? mirror.realm(realm) : await findRealm(pool, realm)
    return row && serve(row)
  }

  return {
    find,
    async findLastKnown(realm) {
      const known = mirror.realm(realm)
      return known ? serve(known) : find(realm)
    },
  }
}
