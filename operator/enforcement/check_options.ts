import type { Logger } from 'pino'
import type { Clock } from '../../kubernetes/clock.ts'
import type { Deposed } from '../../store/operator/epoch.ts'
import type { StoreAccess } from '../rows/store_access.ts'
import type { RoleAssignmentResource } from '../view/resource_types.ts'
import type { PolicyAccess } from './policy_access.ts'
import type { ShippedSet } from './release/shipped_set.ts'

export interface EnforcementCheckOptions {
  access: PolicyAccess
  /** `--require-approval-enforcement` */
  required: boolean
  /** `--trust-existing-decisions`: an empty record is no gap. */
  trustExisting: boolean
  /**
   * Whether etcd was restored from a backup since the last check of this process began: specs, decisions and policies may
   * come from a former gap, so this is a gap. Asked once the lists are new.
   */
  wasRestored?: () => boolean
  /** Default: what this release ships. */
  set?: ShippedSet
  clock: Clock
  log: Logger
}

/** What the leading process provides. */
export interface LeaderContext {
  store: StoreAccess
  /** RoleAssignments as reconcilers see them, possibly behind the API server. */
  cached: () => RoleAssignmentResource[]
  /** Called when the state changes: every Realm and RoleAssignment has to be reconciled. */
  changed: () => void
  onDeposed: (error: Deposed) => void
}
