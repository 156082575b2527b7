import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { parseAllDocuments } from 'yaml'
import type { AccessSource } from '../../../../kubernetes/access.ts'
import { createApiClient } from '../../../../kubernetes/api_client.ts'
import type { ApiClient } from '../../../../kubernetes/api_client.ts'
import { processClock } from '../../../../kubernetes/clock.ts'
import { clusterSource, onlyWhile } from '../../../../operator/source/cluster/cluster_source.ts'
import type { ClusterOptions, ClusterSource } from '../../../../operator/source/cluster/cluster_source.ts'
import { kubeconfigAccess } from '../../../../kubernetes/kubeconfig_access.ts'
import { KINDS } from '../../../../operator/source/resource.ts'
import type { Kind } from '../../../../operator/source/resource.ts'
import { createLog } from '../../../../process/log.ts'
import type { ControlPlane } from '../../../support/control_plane.ts'
import { APPLY_PATCH, MERGE_PATCH } from '../../../support/control_plane/account.ts'
import type { Account } from '../../../support/control_plane/account.ts'
import type { Manifest, World } from '../conformance.ts'
import { APPROVER_RULES, OPERATOR_RULES, grant } from './rights.ts'

export interface ClusterWorld extends World {
  source(): ClusterSource
  /** Lines of the log. */
  logged: string[]
  start(): Promise<void>
  stop(): Promise<void>
}

/** Users and rules for worlds, once for a control plane. */
export async function prepareWorlds({ admin }: ControlPlane): Promise<void> {
  await grant(admin, 'operator', OPERATOR_RULES)
  for (const name of ['ann', 'bob']) await grant(admin, name, APPROVER_RULES)
  const policy = readFileSync(join(import.meta.dirname, 'decision_policy.yaml'), 'utf8')
  for (const document of parseAllDocuments(policy)) {
    const object = document.toJS()
    const plural =
      object.kind === 'ValidatingAdmissionPolicy' ? 'validatingadmissionpolicies' : 'validatingadmissionpolicybindings'
    await admin.do('POST', `/apis/admissionregistration.k8s.io/v1/${plural}`, object)
  }
}

export const PATHS: Record<string, string> = {
  Realm: '/apis/realmkeeper.io/v1beta1/namespaces/NS/realms',
  Client: '/apis/realmkeeper.io/v1beta1/namespaces/NS/clients',
  User: '/apis/realmkeeper.io/v1beta1/namespaces/NS/users',
  RoleAssignment: '/apis/realmkeeper.io/v1beta1/namespaces/NS/roleassignments',
  Secret: '/api/v1/namespaces/NS/secrets',
  Namespace: '/api/v1/namespaces',
}

/** The path of an object, or of all objects of a kind when no namespace is given. */
export function pathOf(kind: string, namespace?: string, name?: string): string {
  const path = PATHS[kind] ?? ''
  const all = namespace === undefined ? path.replace('/namespaces/NS', '') : path.replace('NS', namespace)
  return name === undefined ? all : `${all}/${name}`
}

export interface WorldOptions extends Partial<ClusterOptions> {
  /** The identity of the source. Default: `operator`. */
  as?: Account
  /** Default: the kubeconfig of `as`. */
  access?: AccessSource
  /** The time-out of one call. */
  timeoutMillis?: number
  mayWrite?: () => boolean
  started?: boolean
}

/** A source on a real API server. The objects are deleted at the end of the test. */
export async function clusterWorld(plane: ControlPlane, options: WorldOptions = {}): Promise<ClusterWorld> {
  const { as = plane.user('operator'), started = true, timeoutMillis, mayWrite = () => true, ...more } = options
  const { admin } = plane
  const approvers: Record<string, Account> = { ann: plane.user('ann'), bob: plane.user('bob') }
  let source: ClusterSource | undefined
  const clients: ApiClient[] = []
  let changed: string[] = []
  const logged: string[] = []

  async function start(): Promise<void> {
    const client = createApiClient({
      access: more.access ?? kubeconfigAccess({ file: as.kubeconfig }),
      beforeWrite: onlyWhile(mayWrite),
      clock: processClock,
      ...(timeoutMillis !== undefined && { timeoutMillis }),
    })
    clients.push(client)
    source = clusterSource({
      client,
      keyringNamespace: 'default',
      instance: 'test',
      clock: processClock,
      now: () => new Date(),
      random: Math.random,
      log: createLog({ name: 'test', level: 'debug', destination: { write: (line) => void logged.push(line) } }),
      ...more,
      timings: { firstRetryMillis: 50, longestRetryMillis: 1_000, ...more.timings },
    })
    source.onResource((key) => changed.push(`${key.kind}/${key.namespace}/${key.name}`))
    source.onSecret((name) => changed.push(`Secret/${name.namespace}/${name.name}`))
    await source.start()
  }

  const world: ClusterWorld = {
    logged,
    source() {
      if (!source) throw new Error('not started')
      return source
    },
    async apply(manifest) {
      const { namespace = 'default', name } = manifest.metadata
      if (manifest.kind !== 'Namespace') {
        await admin.call('POST', '/api/v1/namespaces', { metadata: { name: namespace } })
      }
      const query = 'fieldManager=author&force=true&fieldValidation=Strict'
      const path = `${pathOf(manifest.kind, namespace, name)}?${query}`
      await admin.do('PATCH', path, encoded(manifest), { contentType: APPLY_PATCH })
    },
    async remove({ kind, metadata: { namespace = 'default', name } }) {
      await admin.do('DELETE', pathOf(kind, namespace, name))
    },
    async decide({ kind, namespace, name }, decision) {
      const author = await authorOf({ kind, namespace, name }, decision)
      const path = `${pathOf(kind, namespace, name)}/status`
      await author.do('PATCH', path, { status: decision }, { contentType: MERGE_PATCH })
    },
    async restart() {
      await world.stop()
      await start()
    },
    changedKeys() {
      const keys = changed
      changed = []
      return keys
    },
    async eventually(find) {
      for (const deadline = performance.now() + 45_000; performance.now() < deadline;) {
        const found = find()
        if (found !== undefined && found !== false) return found
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
      throw new Error(`not found in time; logged: ${logged.slice(-20).join('')}`)
    },
    async fence() {
      const live = await states(admin)
      await world.eventually(() => {
        const seen = KINDS.flatMap((kind) => world.source().list(kind).map(stateOf))
        return live.every((state) => seen.includes(state)) && seen.length === live.length
      })
      // Secrets and namespaces have separate watches.
      const name = `fence-${++fences}`
      await world.apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'default' } })
      await world.eventually(() => source?.secrets.version({ namespace: 'default', name }))
    },
    start,
    async stop() {
      await source?.stop()
    },
  }

  /** The account that an approval names, because admission lets no other account write it. */
  async function authorOf(key: { kind: Kind; namespace: string; name: string }, decision: Decision): Promise<Account> {
    const { status } = await admin.do('GET', pathOf(key.kind, key.namespace, key.name))
    const before = new Set((status?.approvals ?? []).map((entry: object) => JSON.stringify(entry)))
    const [added] = (decision.approvals ?? []).filter((entry) => !before.has(JSON.stringify(entry)))
    const name: unknown = added && Reflect.get(added, 'approver')
    return approvers[String(name)] ?? plane.user('ann')
  }

  onTestFinished(async () => {
    await source?.stop()
    for (const client of clients) client.close()
    await empty(admin)
  })
  if (started) await start()
  return world
}

type Decision = Parameters<World['decide']>[1]
let fences = 0

interface Item {
  metadata: { namespace: string; name: string; uid: string; resourceVersion: string; finalizers?: string[] }
}

function stateOf({ metadata: { uid, resourceVersion } }: Item): string {
  return `${uid} ${resourceVersion}`
}

async function states(admin: Account): Promise<string[]> {
  const lists = await Promise.all(KINDS.map((kind) => admin.do('GET', pathOf(kind))))
  return lists.flatMap(({ items }) => items.map(stateOf))
}

/** Deletes everything that tests create, also with finalizers. */
export async function empty(admin: Account): Promise<void> {
  for (const kind of [...KINDS, 'Secret']) {
    const { items }: { items: Item[] } = await admin.do('GET', pathOf(kind))
    for (const { metadata } of items) {
      const path = pathOf(kind, metadata.namespace, metadata.name)
      const free = { metadata: { finalizers: null } }
      if (metadata.finalizers) await admin.call('PATCH', path, free, { contentType: MERGE_PATCH })
      await admin.call('DELETE', path)
    }
  }
}

/** Server-side apply ignores `stringData`. */
function encoded(manifest: Manifest): Manifest {
  const { stringData, ...rest } = manifest
  if (typeof stringData !== 'object' || stringData === null) return manifest
  const data = Object.entries(stringData).map(([name, value]) => [name, Buffer.from(String(value)).toString('base64')])
  return { ...rest, data: Object.fromEntries(data) }
}
