import type { Pool } from 'pg'
import { findClient } from '../../store/clients.ts'
import type { ClientRow } from '../../store/clients.ts'
import type { LoadedKeyring } from '../../keyring/loaded_keyring.ts'
import { issuerOf } from '../../process/issuer.ts'
import { findRealm } from '../../store/realms.ts'
import type { RealmRow } from '../../store/realms.ts'
import { OAuthError } from '../http/oauth_error.ts'
import type { RealmMirror } from './realm_mirror.ts'
import type { Realms, ServedRealm } from './served_realm.ts'

export interface RealmsOptions {
  pool: Pool
  /** Issuers begin with it; no slash at its end. */
  baseUrl: string
  mirror: Pick<RealmMirror, 'realm' | 'client' | 'isLoaded'>
  /** Whether the mirror may be believed. Once it was, and while it may not be, every answer is read from Postgres. */
  isFresh: () => boolean
  /** Throws OAuthError 503 while the realm has no good keyring. */
  keyringOf: (realm: string) => LoadedKeyring
}

/** DNS labels (RFC 1123): nothing else is looked for, wherever it comes from. */
const REALM = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** Finds realms in the mirror while it is fresh, and in Postgres otherwise. */
export function createRealms({ pool, baseUrl, mirror, isFresh, keyringOf }: RealmsOptions): Realms {
  // One object for one row, so that a request allocates none.
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
    // Until the log was read once nobody knows whether the schema is one that this process can read.
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
