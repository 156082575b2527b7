import type { Logger } from 'pino'
import type { Clock } from '../kubernetes/clock.ts'
import type { Deposed } from '../store/operator/epoch.ts'
import { clientReconciler } from './client/reconciler.ts'
import { createController } from './controller/controller.ts'
import type { Controller } from './controller/controller.ts'
import { createDispatch } from './controller/dispatch.ts'
import type { Dispatch } from './controller/dispatch.ts'
import type { QueueStats } from './controller/queue.ts'
import type { Reconciler } from './controller/reconciler.ts'
import type { ReconcilerDeps } from './deps.ts'
import type { Workers } from './operator_config.ts'
import { realmReconciler } from './realm/reconciler.ts'
import { roleAssignmentReconciler } from './role_assignment/reconciler.ts'
import type { ListIdentities } from './rows/list_identities.ts'
import type { Kind, Resource } from './source/resource.ts'
import type { ResourceSource } from './source/resource_source.ts'
import { userReconciler } from './user/reconciler.ts'
import { claimHolders } from './view/claims.ts'
import { relationIndex } from './view/relation_index.ts'
import { clientRelations, realmRelations, roleAssignmentRelations, userRelations } from './view/relations.ts'
import type { Relations } from './view/relations.ts'
import { pathOf } from './view/resource_types.ts'
import type { ResourceOf } from './view/resource_types.ts'
import { createView } from './view/view.ts'

/**
 * What the operator does, kind by kind: the reconciler, and the relations by which a change of another resource or
 * Secret enqueues this one.
 */
function controllerTable(deps: ReconcilerDeps): ControllerTable {
  return {
    // One row of `realms`, and the keyring. Enqueued by its keyring Secret, its license Secret, another Realm that
    // claims the same name, and by Clients and RoleAssignments that count in its keys and conditions.
    Realm: {
      reconciler: realmReconciler(deps),
      relations: (realm) => realmRelations(realm, deps.keyringNamespace),
    },

    // One row of `clients`, and the Secret that it generates. Enqueued by its Realm, its Secret, the Clients that it
    // names as audiences, and another Client that claims the same client id.
    Client: { reconciler: clientReconciler(deps), relations: clientRelations },

    // One row of `users`. Enqueued by its Realm, its password Secret, and another User that claims its name or subject.
    User: { reconciler: userReconciler(deps), relations: userRelations },

    // Rows of `granted_roles`. Enqueued by its Realm (roles, governance) and by the User that it names.
    RoleAssignment: { reconciler: roleAssignmentReconciler(deps), relations: roleAssignmentRelations },
  }
}

type ControllerTable = {
  [K in Kind]: { reconciler: Reconciler<K>; relations: (resource: ResourceOf<K>) => Relations }
}

/** The controllers of all kinds, for one term. */
export interface Controllers extends Omit<Dispatch, 'enqueueUsersOf'> {
  /** Enqueues every resource of these kinds. */
  enqueue(...kinds: Kind[]): void
  /** Keys that are ready or in a worker. */
  pending(): number
  stats(kind: Kind): QueueStats
  /** Starts nothing more; resolves when the reconciles that have begun are done. */
  stop(): Promise<void>
}

export interface StartControllersOptions {
  source: ResourceSource
  identities: ListIdentities
  deps: ReconcilerDeps
  /** How many resources of each kind are reconciled at a time. */
  workers: Workers
  clock: Clock
  random: () => number
  log: Logger
  onDeposed: (error: Deposed) => void
}

/** Starts one controller per kind and enqueues every resource. Rows are loaded and swept before. */
export function startControllers(options: StartControllersOptions): Controllers {
  const { source, identities, deps } = options
  const index = relationIndex()
  const view = createView(source, index, deps.rows, (kind, namespace) => !identities.areSame(kind, namespace))
  const table = controllerTable(deps)
  const dispatch = createDispatch({
    source,
    index,
    holderOf: claimHolders(source, index, deps.rows, view),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of its own kind, as the table says
    relationsOf: (resource) => (table[resource.kind].relations as (resource: Resource) => Relations)(resource),
    enqueue: (key, lane) => controllers[key.kind].enqueue(pathOf(key), lane),
  })
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- it ties the kind to its reconciler
  const start = <K extends Kind>(kind: K): Controller =>
    createController(kind, table[kind].reconciler, options.workers[kind], {
      ...options,
      view,
      now: deps.store.now,
      enqueueUsersOf: dispatch.enqueueUsersOf,
      metrics: deps.metrics,
    })
  const controllers: Record<Kind, Controller> = {
    Realm: start('Realm'),
    Client: start('Client'),
    User: start('User'),
    RoleAssignment: start('RoleAssignment'),
  }
  const all = Object.values(controllers)
  dispatch.enqueueAll()

  return {
    ...dispatch,
    enqueue(...kinds) {
      for (const kind of kinds) {
        for (const { metadata } of source.list(kind)) controllers[kind].enqueue(pathOf(metadata), 'back')
      }
    },
    pending: () => all.map((each) => each.stats()).reduce((sum, { ready, running }) => sum + ready + running, 0),
    stats: (kind) => controllers[kind].stats(),
    async stop() {
      await Promise.all(all.map((controller) => controller.stop()))
    },
  }
}
