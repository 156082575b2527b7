import type { ClientRow } from '../../store/clients.ts'
import type { LoadedKeyring } from '../../keyring/loaded_keyring.ts'
import type { SessionUser } from '../../store/live_sessions.ts'
import type { ServedRealm } from '../realms/realms.ts'

/** What the access token and the ID token of one answer are made of. Times are epoch seconds. */
export interface TokenContent {
  realm: ServedRealm
  client: ClientRow
  user: SessionUser
  sid: string
  /** Granted, in the order in which it is told. */
  scope: readonly string[]
  roles: readonly string[]
  authTime: number
  issuedAt: number
  expiresAt: number
  signer: NonNullable<LoadedKeyring['signer']>
}
