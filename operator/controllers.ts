import type { ReconcilerDeps } from './deps.ts'
import type { Reconciler } from './controller/reconciler.ts'
import { clientReconciler } from './client/reconciler.ts'
import { realmReconciler } from './realm/reconciler.ts'
import { roleAssignmentReconciler } from './role_assignment/reconciler.ts'
import { userReconciler } from './user/reconciler.ts'
import { clientRelations, realmRelations, roleAssignmentRelations, userRelations } from './view/relations.ts'
import type { Relations } from './view/relations.ts'
import type { ResourceOf } from './view/resource_types.ts'
import type { Kind } from './source/resource.ts'

/**
 * What the operator does, kind by kind: who reconciles it, how many at a time, and what else than a change of its own
 * wakes it. `relations` says the last in texts: a resource is looked at again when something that it uses changed.
 */
export function controllerTable(deps: ReconcilerDeps): ControllerTable {
  return {
    // One row of `realms`, and the keyring. Woken by its keyring (restored, brought, taken over), its license, another
    // Realm that claims the same name, and by Clients and RoleAssignments that count in its keys and conditions.
    Realm: {
      reconciler: realmReconciler(deps),
      workers: 2,
      relations: (realm) => realmRelations(realm, deps.keyringNamespace),
    },

    // One row of `clients`, and the Secret that it generates. Woken by its Realm (gone, narrowed, other composites), its
    // Secret (rotated, deleted), the Clients that it names as audiences, and another one that claims the same client id.
    Client: { reconciler: clientReconciler(deps), workers: 4, relations: clientRelations },

    // One row of `users`. Woken by its Realm, its password's Secret, and another User that claims its name or subject.
    // Most of the time goes into hashing, so more workers than cores let the rest go on meanwhile.
    User: { reconciler: userReconciler(deps), workers: 8, relations: userRelations },

    // Rows of `granted_roles`, by decision. Woken by its Realm (roles, governance) and by the User that it names.
    RoleAssignment: { reconciler: roleAssignmentReconciler(deps), workers: 4, relations: roleAssignmentRelations },
  }
}

export type ControllerTable = {
  [K in Kind]: { reconciler: Reconciler<K>; workers: number; relations: (resource: ResourceOf<K>) => Relations }
}
