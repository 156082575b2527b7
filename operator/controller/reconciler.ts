import type { Kind, ResourceKey } from '../source/resource.ts'
import type { ResourceEvent } from '../source/resource_source.ts'
import type { ResourceOf } from '../view/resource_types.ts'
import type { UnusableValue } from '../view/referenced_secret.ts'
import type { View } from '../view/view.ts'
import { falseCondition, trueCondition } from './condition.ts'
import type { ConditionState } from './condition.ts'

/**
 * Keeps the rows of one kind equal to its resources. Both methods are idempotent and level-triggered: they act on the
 * present state and do not know which event enqueued the resource. They never sleep; a result says when to come back.
 * "Not ready" is a result. An exception is a failure, and the controller retries it with backoff.
 */
export interface Reconciler<K extends Kind = Kind> {
  reconcile(resource: ResourceOf<K>, view: View): Promise<ReconcileResult>

  /**
   * Removes everything that a deleted resource granted. It reads no Secret and no reference, and takes "not there" for
   * done. The controller removes the finalizer afterwards.
   */
  finalize(resource: ResourceOf<K>, view: View): Promise<void>

  /** Removes what a resource granted that was deleted without its finalizer. Absent where the sweep is soon enough. */
  gone?(key: ResourceKey): Promise<void>
}

/** What a reconcile found. The controller, not the reconciler, writes it to `status`. */
export interface ReconcileResult {
  /** The operator's own conditions, `Ready` among them. */
  conditions: ConditionState[]
  /** Members of status other than conditions; undefined removes one. */
  fields?: Record<string, unknown>
  /** Entries of `status.approvals` to remove, by approver. */
  removeApprovals?: string[]
  /** When to reconcile again without an event: an expiry, a rotation. */
  requeueAt?: Date
  /** The spec is not applied, because the resource is paused: the status keeps the generation that it is about. */
  isHeld?: boolean
  /** Rows changed that other resources use: the controller enqueues those. */
  changed?: boolean
  /** What only the log tells: readers of status may have no right on Secrets. Logged when it changes. */
  detail?: string | undefined
  /** Events other than those that follow from conditions that turn False. Transitions only. */
  events?: ResourceEvent[]
}

type Rest = Omit<ReconcileResult, 'conditions'> & { conditions?: ConditionState[] }

/** `Ready=True`, followed by further conditions. */
export function ready(reason: string, message: string, { conditions = [], ...rest }: Rest = {}): ReconcileResult {
  return { conditions: [trueCondition('Ready', reason, message), ...conditions], ...rest }
}

/** `Ready=False`, for a reason that a person, time or another resource can change. */
export function notReady(reason: string, message: string, { conditions = [], ...rest }: Rest = {}): ReconcileResult {
  return { conditions: [falseCondition('Ready', reason, message), ...conditions], ...rest }
}

/** `Ready=False`, for a referenced value that cannot be used. With `rest` the resource has a row, which stays. */
export function unusable({ reason, message, detail }: UnusableValue, rest?: Rest): ReconcileResult {
  return notReady(reason, rest ? `${message}; the former registration stays in force` : message, { ...rest, detail })
}
