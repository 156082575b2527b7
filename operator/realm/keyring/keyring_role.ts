import type { Logger } from 'pino'
import { APPLY_PATCH } from '../../source/cluster/api_client.ts'
import type { ApiClient } from '../../source/cluster/api_client.ts'
import { isStatus } from '../../source/cluster/api_error.ts'
import { FIELD_MANAGER } from '../../source/cluster/api_object.ts'
import { ResourceConflict } from '../../source/resource_source.ts'

/** The Role that servers are bound to: it names the Secrets that they may read. */
export const KEYRING_ROLE = 'realmkeeper-keyrings'

/** Says which keyrings servers may read. What fails is logged, and tried again with the next call: nothing else waits. */
export interface KeyringRole {
  /** Adds a name. Resolves when the API server has it. */
  allow(name: string): Promise<void>
  /** These, and those that were added a moment ago, stay; all others go. */
  keepOnly(names: readonly string[]): Promise<void>
}

export interface KeyringRoleOptions {
  client: ApiClient
  namespace: string
  /** Milliseconds that never go back. */
  monotonic: () => number
  log: Logger
}

/** How long the row of a realm may follow its keyring. */
const MOMENT_MILLIS = 60_000

export function keyringRole({ client, namespace, monotonic, log }: KeyringRoleOptions): KeyringRole {
  const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/roles/${KEYRING_ROLE}`
  /** What the API server holds, as far as is known. */
  let written: ReadonlySet<string> | undefined
  const added = new Map<string, number>()
  // One after another: two that read the same would write over each other.
  let last: Promise<void> = Promise.resolve()

  function next(change: () => Promise<void>): Promise<void> {
    last = last.then(change).catch((error: unknown) => {
      written = undefined
      if (error instanceof ResourceConflict) return
      log.error(
        { err: error },
        `the Role ${namespace}/${KEYRING_ROLE} cannot be written: servers may not read new keyrings`,
      )
    })
    return last
  }

  async function read(): Promise<ReadonlySet<string>> {
    try {
      return namesIn(await client.object({ method: 'GET', path }))
    } catch (error) {
      if (isStatus(error, 404)) return new Set()
      throw error
    }
  }

  async function write(names: ReadonlySet<string>): Promise<void> {
    const body = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: { name: KEYRING_ROLE, namespace },
      rules: rulesFor([...names]),
    }
    const query = { fieldManager: FIELD_MANAGER, force: 'true' }
    await client.object({ method: 'PATCH', path, query, contentType: APPLY_PATCH, body })
    written = names
  }

  return {
    async allow(name) {
      if (!added.has(name)) added.set(name, monotonic())
      if (written?.has(name)) return
      await next(async () => {
        const present = written ?? (await read())
        if (!present.has(name)) await write(new Set([...present, name]))
        else written = present
      })
    },

    keepOnly(names) {
      return next(async () => {
        for (const [name, at] of added) if (monotonic() - at > MOMENT_MILLIS) added.delete(name)
        const wanted = new Set([...names, ...added.keys()])
        const present = await read()
        if (isSame(present, wanted)) written = present
        else await write(wanted)
      })
    },
  }
}

/** Without names there is no rule: one without `resourceNames` would be the right to every Secret of the namespace. */
export function rulesFor(names: readonly string[]): object[] {
  if (names.length === 0) return []
  return [{ apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'watch'], resourceNames: names.toSorted() }]
}

/** Nothing, unless the rules are what is written here: anything else is put right. */
function namesIn(role: object): Set<string> {
  const rules: unknown = Reflect.get(role, 'rules')
  const [rule]: unknown[] = Array.isArray(rules) ? rules : []
  const names: unknown = typeof rule === 'object' && rule !== null ? Reflect.get(rule, 'resourceNames') : undefined
  const texts = Array.isArray(names) ? names.filter((name) => typeof name === 'string') : []
  return JSON.stringify(sorted(rules ?? [])) === JSON.stringify(sorted(rulesFor(texts))) ? new Set(texts) : new Set()
}

/** With members in one order, as `JSON.stringify` of two equal values needs it. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, member]) => [name, sorted(member)]),
  )
}

function isSame(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && [...one].every((name) => other.has(name))
}
