import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import { pause } from '../../../kubernetes/clock.ts'
import type { Clock } from '../../../kubernetes/clock.ts'
import { KEYRING_LABEL } from '../../../keyring/keyring.ts'
import type { Db } from '../../../store/db.ts'
import { listRealms } from '../../../store/realms.ts'
import { APPLY_PATCH } from '../../../kubernetes/api_client.ts'
import type { ApiClient } from '../../../kubernetes/api_client.ts'
import { FORCED_AS_OPERATOR } from '../../source/cluster/api_names.ts'
import { ResourceConflict } from '../../source/resource_source.ts'
import type { SecretAccess, SecretName } from '../../source/resource_source.ts'

/** The Role that servers are bound to; its `resourceNames` are the keyring Secrets that they may read. */
const KEYRING_ROLE = 'realmkeeper-keyrings'

/** Keeps the Role up to date. A failed write is logged and repeated with the next call; it fails no reconcile. */
export interface KeyringRole {
  /** Adds a name. Resolves when the API server has stored it. */
  allow(name: string): Promise<void>
  /** Removes every name except these and those added within the last minute. */
  keepOnly(names: readonly string[]): Promise<void>
}

export interface KeyringRoleOptions {
  client: ApiClient
  namespace: string
  clock: Pick<Clock, 'now'>
  log: Logger
}

/** The row of a realm is written at most this long after its keyring. */
const ROW_LAG_MILLIS = 60_000
const PRUNE_MILLIS = 60_000

export function keyringRole({ client, namespace, clock, log }: KeyringRoleOptions): KeyringRole {
  const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/roles/${KEYRING_ROLE}`
  /** The names that the API server stores, as last read or written. */
  let written: ReadonlySet<string> | undefined
  const added = new Map<string, number>()
  // One change at a time: two changes that read the same names would overwrite each other.
  let last: Promise<void> = Promise.resolve()

  function next(change: () => Promise<void>): Promise<void> {
    last = last.then(change).catch((error: unknown) => {
      written = undefined
      if (error instanceof ResourceConflict) return
      log.error(
        { err: error },
        `the Role ${namespace}/${KEYRING_ROLE} cannot be written: servers cannot read new keyrings`,
      )
    })
    return last
  }

  async function read(): Promise<ReadonlySet<string>> {
    return namesIn((await client.find({ path })) ?? {})
  }

  async function write(names: ReadonlySet<string>): Promise<void> {
    const body = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: { name: KEYRING_ROLE, namespace },
      rules: rulesFor([...names]),
    }
    await client.object({ method: 'PATCH', path, query: FORCED_AS_OPERATOR, contentType: APPLY_PATCH, body })
    written = names
  }

  return {
    async allow(name) {
      if (!added.has(name)) added.set(name, clock.now())
      if (written?.has(name)) return
      await next(async () => {
        const present = written ?? (await read())
        if (!present.has(name)) await write(new Set([...present, name]))
        else written = present
      })
    },

    keepOnly(names) {
      return next(async () => {
        for (const [name, at] of added) if (clock.now() - at > ROW_LAG_MILLIS) added.delete(name)
        const wanted = new Set([...names, ...added.keys()])
        const present = await read()
        if (isDeepStrictEqual(present, wanted)) written = present
        else await write(wanted)
      })
    },
  }
}

/**
 * Until `signal` is aborted: every minute removes the keyrings of deleted realms from the Role, and restores a Role that
 * another client changed. Where there is no Role (a directory) it returns at once.
 */
export async function runKeyringRolePruning(options: {
  role: KeyringRole | undefined
  db: Db
  keyringNamespace: string
  clock: Clock
  log: Logger
  signal: AbortSignal
}): Promise<void> {
  const { role, db, keyringNamespace, clock, log, signal } = options
  if (!role) return
  while (!signal.aborted) {
    await pause(clock, PRUNE_MILLIS, signal)
    if (signal.aborted) return
    const realms = await listRealms(db).catch((error: unknown) => {
      log.debug({ err: error }, 'the realms cannot be read; the keyring Role is pruned a minute later')
      return undefined
    })
    // After the term another process may have written realms that this list lacks.
    if (!realms || signal.aborted) continue
    const here = realms.filter((realm) => realm.keyringNamespace === keyringNamespace)
    await role.keepOnly(here.map(({ keyringName }) => keyringName))
  }
}

/** Adds each keyring that the operator creates or reads to the Role, before a row names it to servers. */
export function withReadableKeyrings(secrets: SecretAccess, role: KeyringRole, keyringNamespace: string): SecretAccess {
  function isKeyring({ namespace }: SecretName, labels: Record<string, string>): boolean {
    return namespace === keyringNamespace && labels[KEYRING_LABEL] === 'true'
  }
  return {
    ...secrets,
    async read(name) {
      const secret = await secrets.read(name)
      if (secret && isKeyring(name, secret.labels)) await role.allow(name.name)
      return secret
    },
    async create(desired) {
      if (isKeyring(desired, desired.labels)) await role.allow(desired.name)
      return secrets.create(desired)
    },
  }
}

/** No names, no rule: a rule without `resourceNames` would grant every Secret of the namespace. */
export function rulesFor(names: readonly string[]): object[] {
  if (names.length === 0) return []
  return [{ apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'watch'], resourceNames: names.toSorted() }]
}

/** The names in a Role whose rules are as `rulesFor` writes them; none otherwise, so that the Role is written again. */
function namesIn(role: object): Set<string> {
  const rules: unknown = Reflect.get(role, 'rules')
  const [rule]: unknown[] = Array.isArray(rules) ? rules : []
  const names: unknown = typeof rule === 'object' && rule !== null ? Reflect.get(rule, 'resourceNames') : undefined
  const texts = Array.isArray(names) ? names.filter((name) => typeof name === 'string') : []
  return isDeepStrictEqual(rules ?? [], rulesFor(texts)) ? new Set(texts) : new Set()
}
