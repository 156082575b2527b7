import type { Logger } from 'pino'
import type { ApiClient } from '../../../kubernetes/api_client.ts'
import type { Clock } from '../../../kubernetes/clock.ts'
import { createReflector, WATCH_TIMINGS } from '../../../kubernetes/reflector.ts'
import type {
  Reflector,
  ReflectorDeps,
  ReflectorOptions,
  WatchState,
  WatchTimings,
} from '../../../kubernetes/reflector.ts'
import { keyOf, KINDS } from '../resource.ts'
import type { Kind, ResourceKey } from '../resource.ts'
import { ResourceConflict } from '../resource_source.ts'
import type { ResourceSource, SecretName } from '../resource_source.ts'
import { clusterSecrets } from './cluster_secrets.ts'
import { eventRecorder } from './events.ts'
import { kindCache } from './kind_cache.ts'
import type { KindCache } from './kind_cache.ts'
import { kindIdentity } from './kind_identity.ts'
import { namespaceLabels, secretVersions } from './metadata_cache.ts'
import { objectWrites } from './object_writes.ts'
import { trimmed } from './received_object.ts'
import { waitingOutside } from './waiting_outside.ts'
import { crdWatch, kindWatches, namespaceWatches, secretWatches } from './watches.ts'

export interface ClusterOptions {
  /** The source does not close it. Its `beforeWrite` refuses writes while another process may lead. */
  client: ApiClient
  /** The namespaces whose resources are watched. Default: all. */
  namespaces?: readonly string[] | undefined
  /** Its Secrets are watched in addition to those of `namespaces`. */
  keyringNamespace: string
  /** Names this process in Events. */
  instance: string
  clock: Clock
  now: () => Date
  random: () => number
  log: Logger
  timings?: Partial<WatchTimings>
  /**
   * A watch without any sign of the API server for so long is stale: its list does not count as complete, and the
   * process is not ready. Default: the time of two stalls and the list that follows.
   */
  staleMillis?: number
  /**
   * Called when a list shows that etcd was restored from a backup.
   * @param isListing all lists are being requested already; otherwise they are requested now
   */
  onRestored?: (isListing: boolean) => void
}

export interface ClusterSource extends ResourceSource {
  /** Why this process is not ready, for people; undefined while every watch is fresh. */
  problem(): string | undefined
  watches(): WatchState[]
  /** Ends every wait between two tries, because the API server is known to answer again. */
  retryNow(): void
}

/**
 * The resources of a cluster. `start` waits for an API server that does not answer. It resolves also when the API
 * server refuses a list: that kind then has no complete list, and `problem` gives the reason.
 */
export function clusterSource(options: ClusterOptions): ClusterSource {
  const { client, namespaces, keyringNamespace, instance, clock, now, random, log, onRestored } = options
  const timings = { ...WATCH_TIMINGS, ...options.timings }
  const { staleMillis = 2 * timings.stallMillis + 60_000 } = options
  const resourceListeners: ((key: ResourceKey) => void)[] = []
  const secretListeners: ((secret: SecretName) => void)[] = []
  let stopped = false
  /** How many times all lists are being requested again at present. */
  let relists = 0

  const kinds = byKind((kind) => {
    const identity = kindIdentity({ kind, client, changed: (before) => kindChanged(kind, before) })
    const cache = kindCache({ kind, changed: notifyResource, confirmKind: () => identity.refresh() })
    return {
      identity,
      cache,
      reflectors: reflectKind(kind, cache),
      crd: reflect({ ...crdWatch(kind), sink: identity.sink }),
    }
  })
  const spaces = namespaceLabels(notifyRealms)
  const versions = secretVersions((name) => notify(secretListeners, name))
  const shared = [...reflectNamespaces(), ...reflectSecrets()]
  const reflectors = [...Object.values(kinds).flatMap(({ crd, reflectors }) => [crd, ...reflectors]), ...shared]

  const events = eventRecorder({ client, instance, clock, now, log })

  function reflect(watched: Omit<ReflectorOptions, keyof ReflectorDeps | 'trim' | 'onRestored'>): Reflector {
    const shared = { client, clock, random, log, timings }
    return createReflector({ ...watched, trim: trimmed, onRestored: () => void restored(), ...shared })
  }

  /** The other watches may not have noticed, because the restored cluster has reached their resource versions again. */
  async function restored(): Promise<void> {
    if (stopped) return
    const isListing = relists > 0
    onRestored?.(isListing)
    if (!isListing) await relist()
  }

  async function relist(): Promise<void> {
    relists += 1
    await Promise.all(reflectors.map((reflector) => reflector.relist()))
    relists -= 1
  }

  function reflectKind(kind: Kind, cache: KindCache): Reflector[] {
    return kindWatches(kind, namespaces).map(({ namespace, ...watch }) =>
      reflect({ ...watch, sink: cache.sink(namespace) }),
    )
  }

  function reflectNamespaces(): Reflector[] {
    return namespaceWatches(namespaces).map(({ covers, ...watch }) => reflect({ ...watch, sink: spaces.sink(covers) }))
  }

  function reflectSecrets(): Reflector[] {
    return secretWatches(namespaces, keyringNamespace).map(({ covers, ...watch }) =>
      reflect({ ...watch, sink: versions.sink(covers) }),
    )
  }

  function notifyResource(key: ResourceKey): void {
    notify(resourceListeners, key)
  }

  /** Realms select namespaces by their labels. */
  function notifyRealms(): void {
    for (const resource of kinds.Realm.cache.list()) notifyResource(keyOf(resource))
  }

  /** Catches the exceptions of listeners, which would otherwise end a watch in the middle of a batch. */
  function notify<Changed>(listeners: ((changed: Changed) => void)[], changed: Changed): void {
    if (stopped) return
    for (const listener of listeners) {
      try {
        listener(changed)
      } catch (error) {
        log.error({ err: error }, 'a listener for changes of resources failed')
      }
    }
  }

  function kindChanged(kind: Kind, before: string | undefined): void {
    const after = kinds[kind].identity.current()
    if (before !== undefined) {
      log.warn(
        { kind, before, after },
        `the CustomResourceDefinition of ${kind} was deleted, replaced, or can no longer be read`,
      )
    }
    for (const reflector of kinds[kind].reflectors) reflector.retryNow()
    for (const resource of kinds[kind].cache.list()) notifyResource(keyOf(resource))
  }

  function isFresh(reflector: Reflector): boolean {
    const { complete, ageMillis } = reflector.state()
    return complete && ageMillis !== undefined && ageMillis < staleMillis
  }

  return {
    async start() {
      for (const reflector of reflectors) reflector.start()
      await Promise.all(reflectors.map(({ firstList }) => firstList))
    },

    async stop() {
      stopped = true
      await Promise.all([...reflectors.map((reflector) => reflector.stop()), events.stop()])
    },

    onResource: (listener) => void resourceListeners.push(listener),
    onSecret: (listener) => void secretListeners.push(listener),
    scope: namespaces,
    waitingOutside: () => waitingOutside(client, namespaces),
    list: (kind) => kinds[kind].cache.list(),
    get: (key) => kinds[key.kind].cache.get(key)?.resource,

    completeList(kind) {
      const { identity, reflectors } = kinds[kind]
      const current = identity.current()
      // With a kind, all its objects are deleted.
      if (current === undefined || identity.isTerminating() || !reflectors.every(isFresh)) return undefined
      return { identity: current }
    },

    identity: (kind) => kinds[kind].identity.current(),
    isOwnDeletion: ({ kind, metadata }) => kinds[kind].identity.isOwnDeletion(metadata),
    namespaceLabels: (namespace) => spaces.labels(namespace),
    ...objectWrites({ client, cacheOf: (kind) => kinds[kind].cache, now }),
    recordEvent(key, event) {
      const { kind, ...name } = key
      const object = kind === 'Secret' ? versions.get(name) : kinds[kind].cache.get(name)?.resource.metadata
      events.record(key, object, event)
    },
    secrets: clusterSecrets({ client, versions }),

    problem() {
      const stale = reflectors.find((reflector) => !isFresh(reflector))?.state()
      if (!stale) return undefined
      const { what, ageMillis, problem } = stale
      if (problem !== undefined) return `${what} cannot be watched; the log of this process has the cause`
      if (ageMillis === undefined) return `${what}: not listed yet`
      return `${what}: no sign of the API server for ${Math.round(ageMillis / 1_000)} s`
    },
    watches: () => reflectors.map((reflector) => reflector.state()),
    retryNow() {
      for (const reflector of reflectors) reflector.retryNow()
    },
    async catchUp() {
      await relist()
    },
  }
}

/** A `beforeWrite` of an API client: refuses every write while another process may lead. */
export function onlyWhile(mayWrite: () => boolean): (call: string) => void {
  return (call) => {
    if (!mayWrite()) throw new ResourceConflict(`${call}: this process does not lead, so it writes nothing`)
  }
}

function byKind<Value>(make: (kind: Kind) => Value): Record<Kind, Value> {
  const [realm, client, user, roleAssignment] = KINDS
  return { Realm: make(realm), Client: make(client), User: make(user), RoleAssignment: make(roleAssignment) }
}
