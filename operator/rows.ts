import { listClients } from '../store/clients.ts'
import type { ClientRow } from '../store/clients.ts'
import type { Db } from '../store/db.ts'
import { listRealms } from '../store/realms.ts'
import type { RealmRow } from '../store/realms.ts'
import { usernameKey } from '../store/username.ts'
import { listUsers } from '../store/users.ts'
import type { UserRow } from '../store/users.ts'
import { pathOf } from './resource_types.ts'
import { clientDigest, clientSecretDigest, passwordState, realmDigest, userDigest } from './row_digest.ts'
import type { Registered } from './view.ts'

/** What is remembered of a row: enough to know whether it has to be written, little enough for many of them. */
export interface KnownRow {
  resourceUid: string
  namespace: string
  name: string
  realm: string
  digest: string
}

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
  /** False: the hash, if any, must not be computed with, and is made anew. */
  hasUsableHash: boolean
}

/**
 * The rows of configuration as this process last read or wrote them. Loaded in bulk at the start and at each resync;
 * between them, only this process writes them.
 */
export interface Rows extends Registered {
  /** Reads all rows. Returns what differed from what was remembered, in words: somebody else wrote there. */
  load(db: Db): Promise<string[]>

  realms: Known<KnownRow, RealmRow>
  clients: Known<KnownClient, ClientRow>
  users: Known<KnownUser, UserRow>

  clientOwner(realm: string, clientId: string): string | undefined
  usernameOwner(realm: string, username: string): string | undefined
  subjectOwner(realm: string, subject: string): string | undefined

  /** Says why a Realm is not registered, to those that belong to it; undefined once it is. Returns whether that is news. */
  refuseRealm(realmUid: string, reason: string | undefined): boolean
  /** After all rows of a realm were deleted. */
  forgetRealm(realm: string): void
}

/** Rows of one table, by uid of their resource. */
export interface Known<Fact extends KnownRow, Row> {
  get(resourceUid: string): Fact | undefined
  /** The row made last of a resource of this `namespace/name`, be it the present one's or that of a former one. */
  atPath(path: string): Fact | undefined
  all(): Iterable<Fact>
  /** Runs what writes or deletes a row, and says so by `written` or `gone`: a load meanwhile leaves the row alone. */
  write<Result>(resourceUid: string, work: () => Promise<Result>): Promise<Result>
  /** After a row was written, and committed. */
  written(row: Row): void
  /** After a row was deleted, or found to be missing. */
  gone(resourceUid: string): void
}

export function createRows(): Rows {
  const realms = knownTable<KnownRow, RealmRow>('realm', knownRealm, [({ realm }) => realm])
  const clients = knownTable<KnownClient, ClientRow>('client', knownClient, [
    ({ realm, clientId }) => `${realm} ${clientId}`,
  ])
  const users = knownTable<KnownUser, UserRow>('user', knownUser, [
    ({ realm, usernameKey: key }) => `${realm} ${key}`,
    ({ realm, subject }) => `${realm} ${subject}`,
  ])
  const refusals = new Map<string, string>()

  return {
    async load(db) {
      const finish = [realms.beginLoad(), clients.beginLoad(), users.beginLoad()] as const
      const [realmRows, clientRows, userRows] = [await listRealms(db), await listClients(db), await listUsers(db)]
      return [...finish[0](realmRows), ...finish[1](clientRows), ...finish[2](userRows)]
    },
    realms,
    clients,
    users,
    realmOwner: (realm) => realms.ownerOf(0, realm),
    realmRefusal: (realmUid) => refusals.get(realmUid),
    subjectOf(realm, userUid) {
      const known = users.get(userUid)
      return known?.realm === realm ? known.subject : undefined
    },
    clientOwner: (realm, clientId) => clients.ownerOf(0, `${realm} ${clientId}`),
    usernameOwner: (realm, username) => users.ownerOf(0, `${realm} ${usernameKey(username)}`),
    subjectOwner: (realm, subject) => users.ownerOf(1, `${realm} ${subject}`),
    refuseRealm(realmUid, reason) {
      const isNews = refusals.get(realmUid) !== reason
      if (reason === undefined) refusals.delete(realmUid)
      else refusals.set(realmUid, reason)
      return isNews
    },
    forgetRealm(realm) {
      for (const table of [realms, clients, users]) {
        for (const known of table.all()) if (known.realm === realm) table.gone(known.resourceUid)
      }
    },
  }
}

interface KnownTable<Fact extends KnownRow, Row> extends Known<Fact, Row> {
  /** uid of the resource whose row holds a name, of the names given when the table was made. */
  ownerOf(which: number, name: string): string | undefined
  /** What is written or deleted from now on is newer than what a load reads. */
  beginLoad(): (rows: Row[]) => string[]
}

function knownTable<Fact extends KnownRow, Row>(
  what: string,
  factOf: (row: Row) => Fact,
  names: ((fact: Fact) => string)[],
): KnownTable<Fact, Row> {
  const facts = new Map<string, Fact>()
  const owners = names.map(() => new Map<string, string>())
  const paths = new Map<string, string>()
  const inFlight = new Set<string>()
  let touched: Set<string> | undefined
  let isLoaded = false

  function put(fact: Fact): void {
    remove(fact.resourceUid)
    facts.set(fact.resourceUid, fact)
    paths.set(pathOf(fact), fact.resourceUid)
    names.forEach((nameOf, which) => owners[which]?.set(nameOf(fact), fact.resourceUid))
  }

  function remove(uid: string): void {
    const fact = facts.get(uid)
    if (!fact) return
    facts.delete(uid)
    if (paths.get(pathOf(fact)) === uid) paths.delete(pathOf(fact))
    names.forEach((nameOf, which) => {
      // Another resource may have taken the name over meanwhile.
      if (owners[which]?.get(nameOf(fact)) === uid) owners[which].delete(nameOf(fact))
    })
  }

  return {
    get: (uid) => facts.get(uid),
    atPath: (path) => facts.get(paths.get(path) ?? ''),
    all: () => facts.values(),
    ownerOf: (which, name) => owners[which]?.get(name),
    async write(uid, work) {
      inFlight.add(uid)
      try {
        return await work()
      } finally {
        inFlight.delete(uid)
        touched?.add(uid)
      }
    },
    written(row) {
      const fact = factOf(row)
      touched?.add(fact.resourceUid)
      put(fact)
    },
    gone(uid) {
      touched?.add(uid)
      remove(uid)
    },
    beginLoad() {
      const newer = new Set<string>()
      touched = newer
      return (rows) => {
        touched = undefined
        for (const uid of inFlight) newer.add(uid)
        const read = new Map(rows.map((row) => factOf(row)).map((fact) => [fact.resourceUid, fact]))
        const drift: string[] = []
        for (const fact of facts.values()) {
          if (newer.has(fact.resourceUid) || read.has(fact.resourceUid)) continue
          drift.push(`${what} ${fact.namespace}/${fact.name}: the row is missing`)
          remove(fact.resourceUid)
        }
        for (const fact of read.values()) {
          if (newer.has(fact.resourceUid)) continue
          const before = facts.get(fact.resourceUid)
          if (isLoaded && !before) drift.push(`${what} ${fact.namespace}/${fact.name}: the row is not the operator's`)
          if (before && !sameRow(before, fact)) {
            drift.push(`${what} ${fact.namespace}/${fact.name}: the row was changed`)
            put(distrusted(fact, before))
            continue
          }
          put(fact)
        }
        isLoaded = true
        return drift
      }
    },
  }
}

function sameRow(a: KnownRow & { secretDigest?: string }, b: KnownRow & { secretDigest?: string }): boolean {
  return a.digest === b.digest && a.secretDigest === b.secretDigest
}

/** A secret that somebody else put there is to be made anew from its source, even if all else is as it was. */
function distrusted<Fact extends KnownRow>(read: Fact, before: Fact): Fact {
  const isSecret = Reflect.get(read, 'secretDigest') !== Reflect.get(before, 'secretDigest')
  return isSecret ? { ...read, secretSource: null, digest: '' } : read
}

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
  return { ...common(row), ...names, digest: userDigest(row, state), passwordSource, hasUsableHash: state === 'usable' }
}

function common({ resourceUid, namespace, name, realm }: Omit<KnownRow, 'digest'>): Omit<KnownRow, 'digest'> {
  return { resourceUid, namespace, name, realm }
}
