import { listClients } from '../../store/clients.ts'
import type { ClientRow } from '../../store/clients.ts'
import type { Db } from '../../store/db.ts'
import { listRealms } from '../../store/realms.ts'
import type { RealmRow } from '../../store/realms.ts'
import { readUsers } from '../../store/users.ts'
import { usernameKey } from '../../store/username.ts'
import type { UserRow } from '../../store/users.ts'
import { knownTable } from './known_table.ts'
import type { Known, KnownRow } from './known_table.ts'
import { clientDigest, clientSecretDigest, hashDigest, passwordState, realmDigest, userDigest } from './row_digest.ts'

export interface KnownClient extends KnownRow {
  clientId: string
  secretSource: string | null
  secretDigest: string
  previousValidUntil: Date | null
}

export interface KnownUser extends KnownRow {
  subject: string
  usernameKey: string
  passwordSource: string | null
  /** False when there is no hash, or one whose parameters are out of bounds: it is made again from the Secret. */
  hasUsableHash: boolean
  hashDigest: string
  /** Another client wrote the hash: a server that renewed it, or a person by hand. Verified before it is kept. */
  mustVerify: boolean
}

/**
 * The rows of configuration as this process last read or wrote them. They are loaded in bulk at the start of a term and
 * at each resync; in between, only this process writes them.
 */
export interface Rows {
  /** Reads all rows. Returns the rows that another client changed, described for the log. */
  load(db: Db): Promise<string[]>

  realms: Known<KnownRow, RealmRow>
  clients: Known<KnownClient, ClientRow>
  users: Known<KnownUser, UserRow>

  /** uid of the Realm whose row holds a realm name. */
  realmOwner(realm: string): string | undefined
  /** Why the last reconcile refused a Realm; undefined when it did not, or there was none. */
  realmRefusal(realmUid: string): string | undefined

  // The uid of the resource whose row holds a unique name.
  clientOwner(realm: string, clientId: string): string | undefined
  usernameOwner(realm: string, username: string): string | undefined
  subjectOwner(realm: string, subject: string): string | undefined

  /** Records why a Realm is not registered, undefined once it is. Returns whether that changed. */
  refuseRealm(realmUid: string, reason: string | undefined): boolean
  /** To be called after all rows of a realm were deleted. */
  forgetRealm(realm: string): void
}

export function createRows(): Rows {
  const realms = knownTable<KnownRow, RealmRow>({
    what: 'realm',
    factOf: knownRealm,
    names: ({ realm }) => [realm],
    compare: (before, fact) => ({ fact, isDrift: before.digest !== fact.digest }),
  })
  const clients = knownTable<KnownClient, ClientRow>({
    what: 'client',
    factOf: knownClient,
    names: ({ realm, clientId }) => [clientIdName(realm, clientId)],
    compare(before, fact) {
      // Only the operator writes secrets, so without a source and a digest the row is written again.
      const secretChanged = before.secretDigest !== fact.secretDigest
      const read = secretChanged ? { ...fact, secretSource: null, digest: '' } : fact
      return { fact: read, isDrift: secretChanged || before.digest !== fact.digest }
    },
  })
  const users = knownTable<KnownUser, UserRow>({
    what: 'user',
    factOf: knownUser,
    names: ({ realm, usernameKey: key, subject }) => [usernameName(realm, key), subjectName(realm, subject)],
    compare: (before, fact) => ({
      // Servers renew hashes, so another one is no drift; whether it is of the same password must be verified.
      fact: { ...fact, mustVerify: before.mustVerify || before.hashDigest !== fact.hashDigest },
      isDrift: before.digest !== fact.digest,
    }),
  })
  const refusals = new Map<string, string>()

  return {
    async load(db) {
      const [ofRealms, ofClients, ofUsers] = [realms.beginLoad(), clients.beginLoad(), users.beginLoad()]
      ofRealms.take(await listRealms(db))
      ofClients.take(await listClients(db))
      for await (const page of readUsers(db)) ofUsers.take(page)
      return [...ofRealms.finish(), ...ofClients.finish(), ...ofUsers.finish()]
    },
    realms,
    clients,
    users,
    realmOwner: (realm) => realms.ownerOf(realm),
    realmRefusal: (realmUid) => refusals.get(realmUid),
    clientOwner: (realm, clientId) => clients.ownerOf(clientIdName(realm, clientId)),
    usernameOwner: (realm, username) => users.ownerOf(usernameName(realm, usernameKey(username))),
    subjectOwner: (realm, subject) => users.ownerOf(subjectName(realm, subject)),
    refuseRealm(realmUid, reason) {
      const hasChanged = refusals.get(realmUid) !== reason
      if (reason === undefined) refusals.delete(realmUid)
      else refusals.set(realmUid, reason)
      return hasChanged
    },
    forgetRealm(realm) {
      for (const table of [realms, clients, users]) {
        for (const known of table.all()) if (known.realm === realm) table.deleted(known.resourceUid)
      }
    },
  }
}

const clientIdName = (realm: string, clientId: string) => `client id ${realm} ${clientId}`
const usernameName = (realm: string, key: string) => `username ${realm} ${key}`
const subjectName = (realm: string, subject: string) => `subject ${realm} ${subject}`

function knownRealm(row: RealmRow): KnownRow {
  return { ...common(row), digest: realmDigest(row) }
}

function knownClient(row: ClientRow): KnownClient {
  const { clientId, secretSource, previousValidUntil } = row
  const secretDigest = clientSecretDigest(row)
  return { ...common(row), digest: clientDigest(row), clientId, secretSource, secretDigest, previousValidUntil }
}

function knownUser(row: UserRow): KnownUser {
  const { subject, passwordSource } = row
  const state = passwordState(row.passwordHash)
  const names = { subject, usernameKey: usernameKey(row.username) }
  const password = { passwordSource, hasUsableHash: state === 'usable', mustVerify: false }
  return { ...common(row), ...names, digest: userDigest(row, state), hashDigest: hashDigest(row), ...password }
}

function common({ resourceUid, namespace, name, realm }: Omit<KnownRow, 'digest'>): Omit<KnownRow, 'digest'> {
  return { resourceUid, namespace, name, realm }
}
