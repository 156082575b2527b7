import type { ConditionState, ResourceOf } from '../view/resource_types.ts'
import type { Kind, ResourceKey } from '../source/resource.ts'
import type { ResourceEvent } from '../source/resource_source.ts'
import type { View } from '../view/view.ts'

/**
 * Keeps the rows of one kind equal to its resources. Both methods are idempotent and level-triggered: they look at
 * what is there now, never at which event happened. Neither waits: it returns when to come back. "Not ready" is an
 * outcome; only the unexpected is thrown, and tried again with backoff.
 */
export interface Reconciler<K extends Kind = Kind> {
  reconcile(resource: ResourceOf<K>, view: View): Promise<ReconcileResult>

  /**
   * Removes everything that the resource granted. Resolves no Secret and no reference; what is not there is done.
   * The controller removes the finalizer afterwards.
   */
  finalize(resource: ResourceOf<K>, view: View): Promise<void>

  /** Removes at once what a resource granted that went without its finalizer; left out where the sweep is soon enough. */
  gone?(key: ResourceKey): Promise<void>
}

/** What a reconcile concluded. The controller, not the reconciler, writes it to `status`. */
export interface ReconcileResult {
  /** The operator's own conditions, `Ready` among them. */
  conditions: ConditionState[]
  /** Members of status other than conditions; undefined removes one. */
  fields?: Record<string, unknown>
  /** Entries of `status.approvals` to drop, by approver. */
  removeApprovals?: string[]
  /** When to look again even if nothing happens: an expiry, a rotation. */
  requeueAt?: Date
  /** True when rows changed that others rely on: whoever names this resource looks again. */
  changed?: boolean
  /** Events beside those that the controller derives from conditions that turn False. Transitions only. */
  events?: ResourceEvent[]
}

type Rest = Omit<ReconcileResult, 'conditions'> & { conditions?: ConditionState[] }

/** `Ready=True`. Further conditions follow it. */
export function ready(reason: string, message: string, { conditions = [], ...rest }: Rest = {}): ReconcileResult {
  return { conditions: [{ type: 'Ready', status: 'True', reason, message }, ...conditions], ...rest }
}

/** `Ready=False`, for a reason that somebody can do something about, or that time or another resource will settle. */
export function notReady(reason: string, message: string, { conditions = [], ...rest }: Rest = {}): ReconcileResult {
  return { conditions: [{ type: 'Ready', status: 'False', reason, message }, ...conditions], ...rest }
}
