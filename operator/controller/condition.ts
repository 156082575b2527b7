import type { Condition, Resource } from '../source/resource.ts'

/** A condition as a reconciler states it; the controller adds times and generations. */
export type ConditionState = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>

export function trueCondition(type: string, reason: string, message: string): ConditionState {
  return { type, status: 'True', reason, message }
}

export function falseCondition(type: string, reason: string, message: string): ConditionState {
  return { type, status: 'False', reason, message }
}

/** The condition of this type in the status of a resource. */
export function conditionOf({ status }: Resource, type: string): Condition | undefined {
  return status?.conditions?.find((condition) => condition.type === type)
}
