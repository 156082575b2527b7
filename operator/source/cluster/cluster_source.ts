import type { KubeConfig } from '@kubernetes/client-node'
import type { Logger } from 'pino'
import type { Clock } from '../../../kubernetes/clock.ts'
import { KINDS } from '../resource.ts'
import type { Kind, ResourceKey } from '../resource.ts'
import type { ResourceSource, SecretName } from '../resource_source.ts'
import { createApiClient } from './api_client.ts'
import { CRDS_PATH, corePath, crdName, kindPath, NAMESPACES_PATH, placeOf } from './api_paths.ts'
import { clusterSecrets } from './cluster_secrets.ts'
import { eventRecorder } from './events.ts'
import { kindCache } from './kind_cache.ts'
import type { KindCache } from './kind_cache.ts'
import { kindIdentity } from './kind_identity.ts'
import type { KindIdentity } from './kind_identity.ts'
import { secretVersions } from './metadata_cache.ts'
import { namespaceLabels } from './namespaces.ts'
import { objectWrites } from './object_writes.ts'
import { createReflector } from './reflector.ts'
import type { Reflector, ReflectorOptions, WatchState } from './reflector.ts'
import { TIMINGS } from './timings.ts'
import type { Timings } from './timings.ts'

export interface ClusterOptions {
  /** Reads the configuration anew: at the start, and when the API server does not know the credentials any more. */
  connect: () => KubeConfig
  /** Where resources are looked for; default: in all namespaces. */
  namespaces?: readonly string[] | undefined
  /** Whose Secrets are seen beside those of `namespaces`. */
  keyringNamespace: string
  /** False while another process may lead; whatever would be written is then a ResourceConflict. */
  mayWrite: () => boolean
  /** Names this process in Events. */
  instance: string
  clock: Clock
  now: () => Date
  random: () => number
  log: Logger
  timings?: Partial<Timings>
}

export interface ClusterSource extends ResourceSource {
  /** Why this process is not ready, for people; undefined when every watch is fresh. */
  problem(): string | undefined
  /** Every watch, for metrics. */
  watches(): WatchState[]
  /** The API server is known to answer again: whatever waits for its next try does not wait longer. */
  hurry(): void
}

/**
 * The API server of a cluster. `start` resolves also when something may not be listed: the rest works, `problem` says
 * what does not, and the list of that kind is not complete. It waits for an API server that does not answer.
 */
export function clusterSource(options: ClusterOptions): ClusterSource {
  const { connect, namespaces, keyringNamespace, mayWrite, instance, clock, now, random, log } = options
  const timings = { ...TIMINGS, ...options.timings }
  const client = createApiClient({ connect, mayWrite, clock, timeoutMillis: timings.callMillis })
  const resourceListeners: ((key: ResourceKey) => void)[] = []
  const secretListeners: ((secret: SecretName) => void)[] = []
  let stopped = false

  const kinds = byKind((kind) => {
    const identity = kindIdentity({ kind, client, changed: (before) => kindChanged(kind, before) })
    const cache = kindCache({ kind, tell: tellResource, confirmKind: () => identity.look() })
    return { identity, cache, reflectors: reflectKind(kind, cache), crd: reflectCrd(kind, identity) }
  })
  const spaces = namespaceLabels({ tell: tellRealms })
  const versions = secretVersions((name) => call(secretListeners, name))
  const shared = [...reflectNamespaces(), ...reflectSecrets()]
  const reflectors = [...Object.values(kinds).flatMap(({ crd, reflectors }) => [crd, ...reflectors]), ...shared]

  const writes = objectWrites({ client, cacheOf: (kind) => kinds[kind].cache, now })
  const events = eventRecorder({ client, instance, clock, now, log })

  function reflect(about: Omit<ReflectorOptions, 'client' | 'clock' | 'random' | 'log' | 'timings'>): Reflector {
    return createReflector({ ...about, client, clock, random, log, timings })
  }

  function reflectKind(kind: Kind, cache: KindCache): Reflector[] {
    return (namespaces ?? [undefined]).map((namespace) =>
      reflect({
        what: placeOf(crdName(kind), namespace),
        path: kindPath(kind, namespace),
        sink: cache.sink(namespace),
      }),
    )
  }

  /** By name, so that the right to see these four is enough. */
  function reflectCrd(kind: Kind, { sink }: KindIdentity): Reflector {
    const name = crdName(kind)
    return reflect({
      what: `CustomResourceDefinition ${name}`,
      path: CRDS_PATH,
      fieldSelector: `metadata.name=${name}`,
      metadataOnly: true,
      sink,
    })
  }

  function reflectNamespaces(): Reflector[] {
    const every = { path: NAMESPACES_PATH, metadataOnly: true }
    if (!namespaces) return [reflect({ ...every, what: 'namespaces', sink: spaces.sink(() => true) })]
    return namespaces.map((namespace) =>
      reflect({
        ...every,
        what: `namespace ${namespace}`,
        fieldSelector: `metadata.name=${namespace}`,
        sink: spaces.sink(({ name }) => name === namespace),
      }),
    )
  }

  function reflectSecrets(): Reflector[] {
    const scopes = namespaces ? new Set([...namespaces, keyringNamespace]) : [undefined]
    return [...scopes].map((namespace) =>
      reflect({
        what: placeOf('secrets', namespace),
        path: corePath('secrets', namespace),
        metadataOnly: true,
        sink: versions.sink((held) => namespace === undefined || held.namespace === namespace),
      }),
    )
  }

  function tellResource(key: ResourceKey): void {
    call(resourceListeners, key)
  }

  /** Realms select namespaces by their labels. */
  function tellRealms(): void {
    for (const { metadata } of kinds.Realm.cache.list()) {
      tellResource({ kind: 'Realm', namespace: metadata.namespace, name: metadata.name })
    }
  }

  /** An exception of a listener is not the watch's: it would end in the middle of a batch. */
  function call<Told>(listeners: ((told: Told) => void)[], told: Told): void {
    if (stopped) return
    for (const listener of listeners) {
      try {
        listener(told)
      } catch (error) {
        log.error({ err: error }, 'a listener failed')
      }
    }
  }

  function kindChanged(kind: Kind, before: string | undefined): void {
    const after = kinds[kind].identity.current()
    if (before !== undefined)
      log.warn({ kind, before, after }, 'its CustomResourceDefinition is going, gone, another one, or may not be read')
    for (const reflector of kinds[kind].reflectors) reflector.hurry()
    for (const { metadata } of kinds[kind].cache.list()) {
      tellResource({ kind, namespace: metadata.namespace, name: metadata.name })
    }
  }

  function isFresh(reflector: Reflector): boolean {
    const { complete, ageMillis } = reflector.state()
    return complete && ageMillis !== undefined && ageMillis < timings.staleMillis
  }

  return {
    async start() {
      for (const reflector of reflectors) reflector.start()
      await Promise.all(reflectors.map(({ firstLook }) => firstLook))
    },

    async stop() {
      stopped = true
      await Promise.all([...reflectors.map((reflector) => reflector.stop()), events.stop()])
      client.close()
    },

    onResource: (listener) => void resourceListeners.push(listener),
    onSecret: (listener) => void secretListeners.push(listener),
    list: (kind) => kinds[kind].cache.list(),
    get: (key) => kinds[key.kind].cache.get(key)?.resource,

    completeList(kind) {
      const { identity, reflectors } = kinds[kind]
      const current = identity.current()
      // What a kind that is going still lists is on its way out, whoever wants it to stay.
      if (current === undefined || identity.isGoing() || !reflectors.every(isFresh)) return undefined
      return { identity: current }
    },

    identity: (kind) => kinds[kind].identity.current(),
    isOwnDeletion: ({ kind, metadata }) => kinds[kind].identity.isOwnDeletion(metadata),
    namespaceLabels: (namespace) => spaces.labels(namespace),
    writeStatus: (key, uid, patch) => writes.writeStatus(key, uid, patch),
    setFinalizer: (key, uid, present) => writes.setFinalizer(key, uid, present),
    recordEvent(key, event) {
      events.record(key, kinds[key.kind].cache.get(key)?.resource, event)
    },
    secrets: clusterSecrets({ client, versions }),

    problem() {
      const stale = reflectors.find((reflector) => !isFresh(reflector))?.state()
      if (!stale) return undefined
      const since = stale.ageMillis === undefined ? 'never' : `${Math.round(stale.ageMillis / 1_000)} s ago`
      return `${stale.what}: ${stale.problem ?? `last heard of ${since}`}`
    },
    watches: () => reflectors.map((reflector) => reflector.state()),
    hurry() {
      for (const reflector of reflectors) reflector.hurry()
    },
    async catchUp() {
      await Promise.all(reflectors.map((reflector) => reflector.relist()))
    },
  }
}

function byKind<Value>(make: (kind: Kind) => Value): Record<Kind, Value> {
  const [realm, client, user, roleAssignment] = KINDS
  return { Realm: make(realm), Client: make(client), User: make(user), RoleAssignment: make(roleAssignment) }
}
