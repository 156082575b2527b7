import type { Logger } from 'pino'
import { releaseMemory } from '../../process/release_memory.ts'
import { Deposed } from '../../store/operator_epoch.ts'
import type { Clock } from '../../kubernetes/clock.ts'
import { controllerTable } from '../controllers.ts'
import { createController, queueKey } from '../controller/controller.ts'
import type { Controller } from '../controller/controller.ts'
import type { ReconcilerDeps } from '../deps.ts'
import { createDispatch } from '../controller/dispatch.ts'
import type { ApprovalWatch } from '../enforcement/approval_watch.ts'
import { listIdentitiesOf } from '../rows/list_identities.ts'
import type { OperatorMetrics } from '../metrics.ts'
import type { QueueStats } from '../controller/queue.ts'
import { relationIndex } from '../view/relation_index.ts'
import type { Relations } from '../view/relations.ts'
import type { RoleAssignmentResource } from '../view/resource_types.ts'
import type { Rows } from '../rows/rows.ts'
import type { Kind, Resource } from '../source/resource.ts'
import type { ResourceSource } from '../source/resource_source.ts'
import { sweepExpired, sweepRows } from '../rows/sweep.ts'
import { createView } from '../view/view.ts'

export interface ReconcilingOptions {
  source: ResourceSource
  deps: ReconcilerDeps
  rows: Rows
  metrics: OperatorMetrics
  log: Logger
  clock: Clock
  random: () => number
  /** Kinds that were re-created, and whose former rows may go all the same. */
  acceptEmpty: readonly Kind[]
  /** Where decisions are held by admission policies. */
  enforcement?: ApprovalWatch | undefined
  onDeposed: (error: Deposed) => void
  /** How often everything is looked at without a cause, about. */
  resyncMillis: number
}

/** The work of an operator that leads: every resource is looked at once, and again when it may matter. */
export interface Reconciling {
  stop(): Promise<void>
  stats(kind: Kind): QueueStats
}

/** Of one resync to the next; a table that was emptied is said by a few of its rows. */
const MOST_DRIFTS_SAID = 20
/** How soon something that could not be done at a resync is tried again. */
const SOON_MILLIS = 10_000
/** So many keys waiting that working on them is worth a collection afterwards. */
const MUCH = 500

/** Starts it: reads the rows, removes those whose resource is gone, then looks at everything. Throws when Postgres is away. */
export async function startReconciling(options: ReconcilingOptions): Promise<Reconciling> {
  const { source, deps, rows, metrics, log, clock, random, resyncMillis } = options
  const { store } = deps
  const index = relationIndex()
  const identities = listIdentitiesOf({ source, store, acceptEmpty: options.acceptEmpty })
  const view = createView(source, index, rows, (kind) => !identities.areSame(kind))
  const table = controllerTable({ ...deps, drifted, waited: (until, seconds) => metrics.waited(until, seconds) })
  const sweeping = { source, store, rows, identities, log, drifted }
  let started = false
  let stopped = false
  let cancelTick = (): void => {}
  let driftsSaid = 0

  await options.enforcement?.begin({
    store,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a source hands out what its kind's schema accepts
    cached: () => source.list('RoleAssignment') as RoleAssignmentResource[],
    changed: lookAtDecisionsAgain,
    onDeposed: options.onDeposed,
  })
  await rows.load(store.db)
  let sweepLater = await sweepRows(sweeping)

  const dispatch = createDispatch({
    source,
    index,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of its own kind, as the table says
    relationsOf: (resource) => (table[resource.kind].relations as (resource: Resource) => Relations)(resource),
    enqueue: (key, lane) => controllers[key.kind].enqueue(queueKey(key), lane),
  })
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- it ties the kind to its reconciler
  const start = <K extends Kind>(kind: K): Controller =>
    createController(kind, table[kind].reconciler, table[kind].workers, {
      source,
      view,
      log,
      clock,
      random,
      now: store.now,
      wakeUsersOf: (key) => dispatch.wakeUsersOf(key),
      onDeposed: options.onDeposed,
      onReconciled: (reconciled, result) => metrics.reconciled(reconciled, result),
    })
  const controllers: Record<Kind, Controller> = {
    Realm: start('Realm'),
    Client: start('Client'),
    User: start('User'),
    RoleAssignment: start('RoleAssignment'),
  }
  dispatch.enqueueAll()
  started = true

  /** Realms say how it stands, and decisions may count now, or not. */
  function lookAtDecisionsAgain(): void {
    // Before that everything is about to be looked at anyway.
    if (!started || stopped) return
    for (const kind of ['Realm', 'RoleAssignment'] as const) {
      for (const { metadata } of source.list(kind)) controllers[kind].enqueue(queueKey(metadata), 'back')
    }
  }

  function drifted(what: string): void {
    metrics.drifted(1)
    driftsSaid += 1
    if (driftsSaid <= MOST_DRIFTS_SAID) log.warn({ drift: what }, 'somebody else changed the database; it is put right')
  }

  let resyncAt = clock.now() + nextResync()
  function nextResync(): number {
    // Spread, so that what was started together does not come back together.
    return resyncMillis * (0.9 + 0.2 * random())
  }

  function tickIn(millis: number): void {
    if (stopped) return
    cancelTick = clock.after(millis, () => {
      ticking = tick().catch((error: unknown) => {
        if (error instanceof Deposed) options.onDeposed(error)
        else log.warn({ err: error }, 'a resync failed; it is tried again')
      })
      void ticking.finally(() => tickIn(SOON_MILLIS))
    })
  }
  let ticking: Promise<void> = Promise.resolve()

  /** A pass over thousands of resources makes garbage that nothing would make V8 give back. */
  function releaseAfterMuch(): void {
    const left = Object.values(controllers).reduce((sum, each) => sum + each.stats().ready + each.stats().running, 0)
    if (left >= MUCH) hadMuch = true
    else if (left === 0 && hadMuch) {
      releaseMemory()
      hadMuch = false
    }
  }
  let hadMuch = true

  async function tick(): Promise<void> {
    releaseAfterMuch()
    if (clock.now() >= resyncAt) {
      await resync()
      resyncAt = clock.now() + nextResync()
    } else if (sweepLater.some((kind) => source.completeList(kind))) {
      sweepLater = await sweepRows(sweeping)
    }
  }

  async function resync(): Promise<void> {
    driftsSaid = 0
    for (const what of await rows.load(store.db)) drifted(what)
    sweepLater = await sweepRows(sweeping)
    dispatch.enqueueAll()
    await sweepExpired(store)
  }
  tickIn(SOON_MILLIS)

  return {
    async stop() {
      stopped = true
      cancelTick()
      await options.enforcement?.stop()
      await Promise.all([ticking, ...Object.values(controllers).map((controller) => controller.stop())])
    },
    stats: (kind) => controllers[kind].stats(),
  }
}
