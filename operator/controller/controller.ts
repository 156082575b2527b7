import type { Logger } from 'pino'
import { loggableText } from '../../process/loggable.ts'
import { Deposed } from '../../store/operator_epoch.ts'
import type { Clock } from '../../kubernetes/clock.ts'
import { backoffMillis, createQueue } from './queue.ts'
import type { QueueStats, WorkQueue } from './queue.ts'
import { NotYet } from '../view/view.ts'
import type { ReconcileResult, Reconciler } from './reconciler.ts'
import type { NamesRealm, ResourceOf } from '../view/resource_types.ts'
import type { Kind, Resource, ResourceKey } from '../source/resource.ts'
import { keyText } from '../source/resource.ts'
import { ResourceConflict } from '../source/resource_source.ts'
import type { ResourceSource } from '../source/resource_source.ts'
import { statusPatch, transitionEvents } from './status.ts'
import { PostgresAway } from '../rows/store_access.ts'
import type { View } from '../view/view.ts'

/** The mark on a resource that says: rows hang on it, remove them before it goes. */
export const FINALIZER = 'realmkeeper.io/cleanup'

export interface ControllerDeps {
  source: ResourceSource
  view: View
  log: Logger
  clock: Clock
  random: () => number
  now: () => Date
  /** Called when something that others rely on changed: they look again. */
  wakeUsersOf: (key: ResourceKey) => void
  /** Another process leads by now: this one has to end. */
  onDeposed: (error: Deposed) => void
  onReconciled?: (kind: Kind, result: ReconcileLabel) => void
}

export type ReconcileLabel = 'ready' | 'not_ready' | 'finalized' | 'failed'

/** One kind's queue and what works on it. The only writer of status and finalizers. */
export interface Controller {
  enqueue: WorkQueue['add']
  stop(): Promise<void>
  stats(): QueueStats
}

const SOONEST_MILLIS = 1_000
const FIRST_LOOK_MILLIS = 5_000
const LONGEST_LOOK_MILLIS = 60_000
/** Something that settles sooner is not worth a status: a hundred Realms that appear at once take their time for keys. */
const SILENT_MILLIS = 30_000
// A wait is cut short where the clock may be stepped meanwhile; whoever comes early waits again.
const LONGEST_WAIT_MILLIS = 60 * 60_000

export function createController<K extends Kind>(
  kind: K,
  reconciler: Reconciler<K>,
  workers: number,
  deps: ControllerDeps,
): Controller {
  const { source, view, log, now } = deps
  const queue = createQueue({
    workers,
    work,
    clock: deps.clock,
    random: deps.random,
    isOutage: (error) => error instanceof PostgresAway,
    onFailure,
  })

  /** uids whose deletion was said to wait: once is enough. */
  const waitingDeletions = new Set<string>()
  /** uid of what was finalized, by key: somebody else's finalizer may hold it for long. */
  const ended = new Map<string, string>()
  /** Keys that wait for something else to settle: how often they looked, and since when. */
  const unsettled = new Map<string, { looks: number; since: number }>()

  async function work(text: string): Promise<number | undefined> {
    const key = parseKey(kind, text)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a source hands out what its kind's schema accepts
    const resource = source.get(key) as ResourceOf<K> | undefined
    if (!resource) return await gone(key)
    try {
      const isDeleted = resource.metadata.deletionTimestamp !== undefined
      const again = isDeleted ? await finalize(key, resource) : await reconcile(key, resource)
      unsettled.delete(text)
      return again
    } catch (error) {
      if (error instanceof Deposed) return deposed(error)
      if (error instanceof NotYet) return await waitFor(error, text, key, resource)
      if (error instanceof PostgresAway) await saySomething(key, resource, WAITING_FOR_POSTGRES)
      sayDeletionWaits(key, resource, error)
      throw error
    }
  }

  /** There were no rows, or somebody removed our finalizer by hand: what is not ended here the sweep finds. */
  async function gone(key: ResourceKey): Promise<undefined> {
    ended.delete(keyText(key))
    unsettled.delete(queueKey(key))
    // Nobody knows what is missing in a list that is not complete.
    if (!reconciler.gone || !source.completeList(kind)) return undefined
    try {
      await reconciler.gone(key)
      return undefined
    } catch (error) {
      if (error instanceof Deposed) return deposed(error)
      throw error
    }
  }

  async function reconcile(key: ResourceKey, resource: ResourceOf<K>): Promise<number | undefined> {
    // While its realm is not settled nothing is written, the finalizer neither: thousands may wait for one Realm.
    if (namesRealm(resource)) view.realmFor(resource)
    // Before any row: a resource whose rows are written cannot go without telling.
    if (!hasFinalizer(resource)) await source.setFinalizer(key, resource.metadata.uid, true)
    const outcome = await reconciler.reconcile(resource, view)
    await say(key, resource, outcome)
    if (outcome.changed) deps.wakeUsersOf(key)
    deps.onReconciled?.(kind, isReady(outcome) ? 'ready' : 'not_ready')
    if (!outcome.requeueAt) return undefined
    const millis = outcome.requeueAt.getTime() - now().getTime()
    // What asks for a time that is past already must not turn in circles.
    return millis > 0 ? Math.min(millis, LONGEST_WAIT_MILLIS) : SOONEST_MILLIS
  }

  /**
   * Whatever it waits for wakes it, so nothing is counted as failed and little is looked at again: ten thousand Users
   * may be there seconds before their Realms are registered, and each status would be a write.
   */
  async function waitFor(cause: NotYet, text: string, key: ResourceKey, resource: Resource): Promise<number> {
    const { looks, since } = unsettled.get(text) ?? { looks: 0, since: deps.clock.now() }
    unsettled.set(text, { looks: looks + 1, since })
    log.debug({ resource: keyText(key) }, cause.message)
    if (deps.clock.now() - since > SILENT_MILLIS) await saySomething(key, resource, loggableText(cause.message))
    return backoffMillis(looks + 1, FIRST_LOOK_MILLIS, LONGEST_LOOK_MILLIS, deps.random)
  }

  /** Also without our finalizer, which anybody may remove while one of theirs holds the object: it must not grant on. */
  async function finalize(key: ResourceKey, resource: ResourceOf<K>): Promise<undefined> {
    const { uid } = resource.metadata
    if (!hasFinalizer(resource) && ended.get(keyText(key)) === uid) return
    // A grant that nobody's object asks for any more ends, whatever became of the kind.
    if (kind === 'RoleAssignment' || (await source.isOwnDeletion?.(resource)) !== false) {
      await reconciler.finalize(resource, view)
    } else log.warn({ resource: keyText(key) }, 'released without removing its rows: it goes because its kind does')
    await source.setFinalizer(key, uid, false)
    ended.set(keyText(key), uid)
    waitingDeletions.delete(uid)
    deps.wakeUsersOf(key)
    deps.onReconciled?.(kind, 'finalized')
  }

  async function say(key: ResourceKey, resource: Resource, outcome: ReconcileResult): Promise<void> {
    const patch = statusPatch(resource, outcome)
    if (patch) await source.writeStatus(key, resource.metadata.uid, patch)
    for (const event of transitionEvents(resource, outcome)) source.recordEvent(key, event)
  }

  /** Whoever waits for readiness takes a resource without `Ready` for a ready one. */
  async function saySomething(key: ResourceKey, resource: Resource, message: string): Promise<void> {
    if (resource.metadata.deletionTimestamp !== undefined || observed(resource)) return
    const condition = { type: 'Ready', status: 'Unknown' as const, reason: 'Reconciling', message }
    await source
      .writeStatus(key, resource.metadata.uid, {
        observedGeneration: resource.metadata.generation,
        conditions: [{ ...condition, observedGeneration: resource.metadata.generation }],
      })
      .catch((error: unknown) => log.debug({ err: error, resource: keyText(key) }, 'status not written'))
  }

  function sayDeletionWaits(key: ResourceKey, { metadata }: Resource, error: unknown): void {
    if (metadata.deletionTimestamp === undefined || waitingDeletions.has(metadata.uid)) return
    waitingDeletions.add(metadata.uid)
    const why = error instanceof PostgresAway ? WAITING_FOR_POSTGRES : FAILED
    const message = `what it granted is not removed yet, so it stays: ${why}`
    source.recordEvent(key, { type: 'Warning', reason: 'CleanupPending', message })
  }

  function onFailure({ key: text, error, failures, retryMillis }: FailureOf<typeof createQueue>): void {
    const key = parseKey(kind, text)
    const resource = source.get(key)
    const about = { resource: text, err: error, failures, retryMillis }
    // Somebody else was faster: an ordinary part of converging.
    const isOrdinary = error instanceof ResourceConflict
    if (isOrdinary) log.debug(about, 'tried again')
    else log.error(about, 'reconciling failed; it is tried again')
    deps.onReconciled?.(kind, 'failed')
    if (resource && !isOrdinary) void saySomething(key, resource, FAILED)
  }

  function deposed(error: Deposed): undefined {
    void queue.stop()
    deps.onDeposed(error)
  }

  return { enqueue: queue.add, stop: queue.stop, stats: queue.stats }
}

type FailureOf<Create extends typeof createQueue> = Parameters<NonNullable<Parameters<Create>[0]['onFailure']>>[0]

const WAITING_FOR_POSTGRES = 'waiting for PostgreSQL'
const FAILED = 'reconciling failed and is tried again; the log of the operator says why'

function hasFinalizer({ metadata }: Resource): boolean {
  return metadata.finalizers?.includes(FINALIZER) === true
}

function namesRealm(resource: Resource): resource is NamesRealm {
  return resource.kind !== 'Realm'
}

/** True when `Ready` is there and speaks of this generation. */
function observed({ metadata, status }: Resource): boolean {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  return ready !== undefined && ready.observedGeneration === metadata.generation
}

function isReady({ conditions }: ReconcileResult): boolean {
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
}

/** A queue's keys are `namespace/name`, which have no slash in them. */
function parseKey(kind: Kind, text: string): ResourceKey {
  const [namespace = '', name = ''] = text.split('/')
  return { kind, namespace, name }
}

/** The key of a resource in its kind's queue. */
export function queueKey({ namespace, name }: Pick<ResourceKey, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`
}
