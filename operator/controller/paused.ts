import type { Resource } from '../source/resource.ts'
import { conditionOf, falseCondition, trueCondition } from './condition.ts'
import type { ConditionState } from './condition.ts'
import type { ReconcileResult } from './reconciler.ts'

/** `"true"` on a resource: the operator applies nothing of it, and a deletion waits. */
export const PAUSED = 'realmkeeper.io/paused'

/** What ends still ends: a grant that expires or is denied, a role that is removed, a resource that its Realm expels. */
export function isPaused({ metadata }: Resource): boolean {
  return metadata.annotations?.[PAUSED] === 'true'
}

/**
 * Whether a deletion waits. That of a RoleAssignment does not: it takes roles away, and a pause never keeps a role.
 */
export function holdsDeletion(resource: Resource): boolean {
  return resource.kind !== 'RoleAssignment' && isPaused(resource)
}

/** The result for a paused resource whose row stays as it is. @param changed whether rows changed that others use */
export function heldResult(resource: Resource, changed = false): ReconcileResult {
  const message = `paused before it was applied for the first time: remove the annotation ${PAUSED}`
  const isNew = conditionOf(resource, 'Ready') === undefined
  return { conditions: isNew ? [falseCondition('Ready', 'Paused', message)] : [], isHeld: !isNew, changed }
}

/** The result with the condition `Paused`, which a resource has from its first pause on. */
export function withPauseCondition(resource: Resource, result: ReconcileResult): ReconcileResult {
  const condition = pauseCondition(resource)
  return condition ? { ...result, conditions: [...result.conditions, condition] } : result
}

function pauseCondition(resource: Resource): ConditionState | undefined {
  if (isPaused(resource)) return trueCondition('Paused', 'Annotated', messageFor(resource))
  if (conditionOf(resource, 'Paused') === undefined) return undefined
  return falseCondition('Paused', 'NotAnnotated', 'the resource is reconciled')
}

function messageFor(resource: Resource): string {
  if (resource.kind === 'RoleAssignment') {
    return `nothing new is granted until the annotation ${PAUSED} is removed; what expires, is removed or denied still ends`
  }
  return resource.metadata.deletionTimestamp === undefined
    ? `changes are not applied, and a deletion waits, until the annotation ${PAUSED} is removed`
    : `the deletion waits until the annotation ${PAUSED} is removed`
}
