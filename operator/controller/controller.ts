import type { Logger } from 'pino'
import { backoffMillis } from '../../kubernetes/clock.ts'
import type { Clock } from '../../kubernetes/clock.ts'
import { loggableText } from '../../process/loggable.ts'
import { FINALIZER } from '../../crds/group.ts'
import { Deposed } from '../../store/operator/epoch.ts'
import type { OperatorMetrics, ReconcileLabel } from '../metrics.ts'
import { PostgresAway } from '../rows/store_access.ts'
import { keyText } from '../source/resource.ts'
import type { Kind, Resource, ResourceKey } from '../source/resource.ts'
import { ResourceConflict } from '../source/resource_source.ts'
import type { ResourceSource } from '../source/resource_source.ts'
import { pathOf } from '../view/resource_types.ts'
import type { NamesRealm, ResourceOf } from '../view/resource_types.ts'
import { NotYet } from '../view/view.ts'
import type { View } from '../view/view.ts'
import { conditionOf } from './condition.ts'
import { createQueue } from './queue.ts'
import { holdsDeletion, PAUSED, withPauseCondition } from './paused.ts'
import type { QueueFailure, QueueStats, WorkQueue } from './queue.ts'
import type { Reconciler, ReconcileResult } from './reconciler.ts'
import { statusPatch, transitionEvents } from './status.ts'

export interface ControllerDeps {
  source: ResourceSource
  view: View
  log: Logger
  clock: Clock
  random: () => number
  now: () => Date
  /** Called when rows changed that other resources use. */
  enqueueUsersOf: (key: ResourceKey) => void
  /** Another process leads: this one must end. */
  onDeposed: (error: Deposed) => void
  metrics: Pick<OperatorMetrics, 'reconciled'>
}

/** The queue and the workers of one kind. The only writer of status and finalizers. */
export interface Controller {
  enqueue: WorkQueue['add']
  stop(): Promise<void>
  stats(): QueueStats
}

const MIN_REQUEUE_MILLIS = 1_000
/** A longer wait is split, because the wall clock may be set meanwhile. */
const MAX_REQUEUE_MILLIS = 60 * 60_000
const FIRST_NOT_YET_MILLIS = 5_000
const LONGEST_NOT_YET_MILLIS = 60_000
/** Waits shorter than this write no status: a hundred Realms that appear at once take a while to get keys. */
const SILENT_MILLIS = 30_000

export function createController<K extends Kind>(
  kind: K,
  reconciler: Reconciler<K>,
  workers: number,
  deps: ControllerDeps,
): Controller {
  const { source, view, log, clock, random, now } = deps
  const isOutage = (error: unknown) => error instanceof PostgresAway
  const queue = createQueue({ workers, work, clock, random, isOutage, onFailure })

  /** uids of deleted resources that have their CleanupPending Event. */
  const cleanupReported = new Set<string>()
  /** uid of the finalized object, by key: another finalizer may keep it for long. */
  const finalized = new Map<string, string>()
  /** The last logged detail of a result, by key. */
  const details = new Map<string, string>()
  /** Keys whose reconcile throws NotYet: how often, and since when. */
  const unsettled = new Map<string, { attempts: number; since: number }>()

  async function work(text: string): Promise<number | undefined> {
    const began = clock.now()
    const count = (result: ReconcileLabel): void => deps.metrics.reconciled(kind, result, (clock.now() - began) / 1_000)
    try {
      return await workOn(text, count)
    } catch (error) {
      // As in the queue: an outage is no failure of this resource.
      if (!isOutage(error)) count('failed')
      throw error
    }
  }

  async function workOn(text: string, count: (result: ReconcileLabel) => void): Promise<number | undefined> {
    const key = parseKey(kind, text)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a source hands out what its kind's schema accepts
    const resource = source.get(key) as ResourceOf<K> | undefined
    try {
      if (!resource) return await gone(key)
      const isDeleted = resource.metadata.deletionTimestamp !== undefined
      const requeueMillis = isDeleted ? await finalize(key, resource, count) : await reconcile(key, resource, count)
      unsettled.delete(text)
      return requeueMillis
    } catch (error) {
      if (error instanceof Deposed) return deposed(error)
      if (!resource) throw error
      if (error instanceof NotYet) return await requeueUnsettled(error, text, key, resource)
      if (error instanceof PostgresAway) await writeReconciling(key, resource, WAITING_FOR_POSTGRES)
      reportPendingCleanup(key, resource, error instanceof PostgresAway ? WAITING_FOR_POSTGRES : FAILED)
      throw error
    }
  }

  async function reconcile(
    key: ResourceKey,
    resource: ResourceOf<K>,
    count: (result: ReconcileLabel) => void,
  ): Promise<number | undefined> {
    // Throws NotYet before the finalizer is written: thousands of resources may wait for one Realm.
    if (namesRealm(resource)) view.realmFor(resource)
    // Before any row, so that no object with rows is deleted without its cleanup.
    if (!hasFinalizer(resource)) await source.setFinalizer(key, resource.metadata.uid, true)
    const result = await reconciler.reconcile(resource, view)
    await writeStatus(key, resource, result)
    logDetail(key, result)
    if (result.changed) deps.enqueueUsersOf(key)
    count(isReady(result) ? 'ready' : 'not_ready')
    if (!result.requeueAt) return undefined
    const millis = result.requeueAt.getTime() - now().getTime()
    // A time in the past must not make a busy loop.
    return millis > 0 ? Math.min(millis, MAX_REQUEUE_MILLIS) : MIN_REQUEUE_MILLIS
  }

  /** Also without the finalizer: anyone may remove it while another finalizer keeps the object, and grants must end. */
  async function finalize(
    key: ResourceKey,
    resource: ResourceOf<K>,
    count: (result: ReconcileLabel) => void,
  ): Promise<undefined> {
    const { uid } = resource.metadata
    if (!hasFinalizer(resource) && finalized.get(keyText(key)) === uid) return
    // A grant without a RoleAssignment ends, whether the object was deleted or its kind.
    if (kind === 'RoleAssignment' || (await source.isOwnDeletion?.(resource)) !== false) {
      if (hasFinalizer(resource) && holdsDeletion(resource)) {
        await writeStatus(key, resource, { conditions: [], isHeld: true })
        reportPendingCleanup(key, resource, `the annotation ${PAUSED} holds its deletion`)
        return
      }
      await reconciler.finalize(resource, view)
    } else {
      log.warn({ resource: keyText(key) }, 'the kind was deleted: the finalizer is removed and the rows stay')
    }
    await source.setFinalizer(key, uid, false)
    finalized.set(keyText(key), uid)
    cleanupReported.delete(uid)
    deps.enqueueUsersOf(key)
    count('finalized')
  }

  /** The object was finalized, or was deleted without its finalizer. The sweep finds the rows that remain. */
  async function gone(key: ResourceKey): Promise<undefined> {
    finalized.delete(keyText(key))
    unsettled.delete(pathOf(key))
    details.delete(keyText(key))
    // An incomplete list may lack objects that exist.
    if (source.completeList(kind)) await reconciler.gone?.(key)
  }

  /** Not a failure: the resource that it waits for enqueues it, so the retries are rare. */
  async function requeueUnsettled(cause: NotYet, text: string, key: ResourceKey, resource: Resource): Promise<number> {
    const { attempts, since } = unsettled.get(text) ?? { attempts: 0, since: clock.now() }
    unsettled.set(text, { attempts: attempts + 1, since })
    log.debug({ resource: keyText(key) }, cause.message)
    if (clock.now() - since > SILENT_MILLIS) await writeReconciling(key, resource, loggableText(cause.message))
    return backoffMillis(attempts + 1, FIRST_NOT_YET_MILLIS, LONGEST_NOT_YET_MILLIS, random)
  }

  async function writeStatus(key: ResourceKey, resource: Resource, found: ReconcileResult): Promise<void> {
    const result = withPauseCondition(resource, found)
    const patch = statusPatch(resource, result)
    if (patch) await source.writeStatus(key, resource.metadata.uid, patch)
    for (const event of transitionEvents(resource, result)) source.recordEvent(key, event)
  }

  function logDetail(key: ResourceKey, { detail }: ReconcileResult): void {
    const resource = keyText(key)
    if (details.get(resource) === detail) return
    if (detail === undefined) details.delete(resource)
    else {
      details.set(resource, detail)
      log.warn({ resource }, detail)
    }
  }

  /** `Ready=Unknown` for a generation without a `Ready`: kstatus takes a resource without `Ready` for ready. */
  async function writeReconciling(key: ResourceKey, resource: Resource, message: string): Promise<void> {
    const { uid, generation: observedGeneration, deletionTimestamp } = resource.metadata
    if (deletionTimestamp !== undefined || hasCurrentReady(resource)) return
    const condition = { type: 'Ready', status: 'Unknown' as const, reason: 'Reconciling', message, observedGeneration }
    await source
      .writeStatus(key, uid, { observedGeneration, conditions: [condition] })
      .catch((error: unknown) => log.debug({ err: error, resource: keyText(key) }, 'the status could not be written'))
  }

  function reportPendingCleanup(key: ResourceKey, { metadata }: Resource, cause: string): void {
    if (metadata.deletionTimestamp === undefined || cleanupReported.has(metadata.uid)) return
    cleanupReported.add(metadata.uid)
    const message = `the object stays until its rows are removed: ${cause}`
    source.recordEvent(key, { type: 'Warning', reason: 'CleanupPending', message })
  }

  function onFailure({ key: text, error, failures, retryMillis }: QueueFailure): void {
    const key = parseKey(kind, text)
    const about = { resource: keyText(key), err: error, failures, retryMillis }
    // Another writer was faster, which is ordinary.
    if (error instanceof ResourceConflict)
      return log.debug(about, 'the resource changed meanwhile; the operator retries')
    log.error(about, 'reconciling failed; the operator retries it')
    const resource = source.get(key)
    if (resource) void writeReconciling(key, resource, FAILED)
  }

  function deposed(error: Deposed): undefined {
    void queue.stop()
    deps.onDeposed(error)
  }

  return { enqueue: queue.add, stop: queue.stop, stats: queue.stats }
}

const WAITING_FOR_POSTGRES = 'waiting for PostgreSQL'
const FAILED = 'reconciling failed; the operator retries it, and its log has the error'

function hasFinalizer({ metadata }: Resource): boolean {
  return metadata.finalizers?.includes(FINALIZER) === true
}

function namesRealm(resource: Resource): resource is NamesRealm {
  return resource.kind !== 'Realm'
}

function hasCurrentReady(resource: Resource): boolean {
  return conditionOf(resource, 'Ready')?.observedGeneration === resource.metadata.generation
}

function isReady({ conditions }: ReconcileResult): boolean {
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
}

/** From the text in the queue of a kind, which is `pathOf`. Neither name has a slash. */
function parseKey(kind: Kind, text: string): ResourceKey {
  const [namespace = '', name = ''] = text.split('/')
  return { kind, namespace, name }
}
