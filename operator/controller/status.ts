import { isDeepStrictEqual } from 'node:util'
import { loggableText } from '../../process/loggable.ts'
import type { ReconcileResult } from './reconciler.ts'
import type { ConditionState } from '../view/resource_types.ts'
import type { Resource } from '../source/resource.ts'
import type { ResourceEvent, StatusPatch } from '../source/resource_source.ts'

const LONGEST_MESSAGE = 1_024

/**
 * What to write into status for an outcome: undefined when the status says so already. Messages may quote what users
 * wrote, so they become one bounded line without control characters.
 */
export function statusPatch(resource: Resource, outcome: ReconcileResult): StatusPatch | undefined {
  const observedGeneration = resource.metadata.generation
  const conditions = outcome.conditions.map((condition) => ({ ...cleaned(condition), observedGeneration }))
  const status = resource.status
  const present = (type: string) => status?.conditions?.find((condition) => condition.type === type)

  const sameConditions = conditions.every(({ type, ...wanted }) => {
    const { status: state, reason, message, observedGeneration: observed } = present(type) ?? {}
    return isDeepStrictEqual({ status: state, reason, message, observedGeneration: observed }, wanted)
  })
  const fields = outcome.fields ?? {}
  const sameFields = Object.entries(fields).every(([name, wanted]) =>
    isDeepStrictEqual(withoutUndefined(status && Reflect.get(status, name)), withoutUndefined(wanted)),
  )
  const nothingToRemove = !outcome.removeApprovals?.length
  if (sameConditions && sameFields && nothingToRemove && status?.observedGeneration === observedGeneration) {
    return undefined
  }
  return {
    observedGeneration,
    conditions,
    ...(outcome.fields && { fields }),
    ...(outcome.removeApprovals?.length && { removeApprovals: outcome.removeApprovals }),
  }
}

/** Conditions whose False is worth an Event whenever its reason is new, not only when they were True before. */
const ALWAYS_WORTH_SAYING = ['Ready', 'KeysReady']

/**
 * Events for conditions that turned False, and those that the reconciler asks for. None for success, and none for
 * what was said before.
 */
export function transitionEvents(resource: Resource, outcome: ReconcileResult): ResourceEvent[] {
  const turned = outcome.conditions.filter(({ type, status, reason }) => {
    if (status !== 'False') return false
    const before = resource.status?.conditions?.find((condition) => condition.type === type)
    if (before?.status === 'True') return true
    return ALWAYS_WORTH_SAYING.includes(type) && before?.reason !== reason
  })
  // One cause often turns several conditions; it is said once, and not at all where the reconciler tells it better.
  const isTold = (outcome.events ?? []).length > 0
  const warnings = turned.filter(
    (each, at) => !isTold && turned.findIndex(({ reason }) => reason === each.reason) === at,
  )
  return [
    ...warnings.map(({ reason, message }) => ({ type: 'Warning' as const, reason, message })),
    ...(outcome.events ?? []),
  ].map((event) => ({ ...event, message: loggableText(event.message, LONGEST_MESSAGE) }))
}

function cleaned({ type, status, reason, message }: ConditionState): ConditionState {
  return { type, status, reason, message: loggableText(message, LONGEST_MESSAGE) }
}

function withoutUndefined(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}
