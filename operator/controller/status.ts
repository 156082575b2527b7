import { isDeepStrictEqual } from 'node:util'
import { loggableText } from '../../process/loggable.ts'
import type { Resource } from '../source/resource.ts'
import type { ResourceEvent, StatusPatch } from '../source/resource_source.ts'
import { conditionOf } from './condition.ts'
import type { ConditionState } from './condition.ts'
import type { ReconcileResult } from './reconciler.ts'

const MAX_MESSAGE_LENGTH = 1_024

/**
 * The status to write for a result; undefined when it would change nothing. Messages can quote what users wrote, so
 * each becomes one bounded line without control characters.
 */
export function statusPatch(resource: Resource, result: ReconcileResult): StatusPatch | undefined {
  const { status } = resource
  const observedGeneration = resource.metadata.generation
  const conditions = result.conditions.map((condition) => ({ ...withSafeMessage(condition), observedGeneration }))
  const { fields = {}, removeApprovals = [] } = result

  const hasConditions = conditions.every(({ type, ...wanted }) => {
    const { status: state, reason, message, observedGeneration: observed } = conditionOf(resource, type) ?? {}
    return isDeepStrictEqual({ status: state, reason, message, observedGeneration: observed }, wanted)
  })
  const hasFields = Object.entries(fields).every(([name, wanted]) =>
    isDeepStrictEqual(withoutUndefined(status && Reflect.get(status, name)), withoutUndefined(wanted)),
  )
  const about = result.isHeld ? (status?.observedGeneration ?? observedGeneration) : observedGeneration
  const isCurrent = hasConditions && hasFields && status?.observedGeneration === about
  if (isCurrent && removeApprovals.length === 0) return undefined
  return {
    observedGeneration: about,
    conditions,
    ...(result.fields && { fields }),
    ...(removeApprovals.length > 0 && { removeApprovals }),
  }
}

/** False is worth an Event for each new reason of these conditions, and for others only after True. */
const EVENT_PER_REASON = ['Ready', 'KeysReady']

/** Events for conditions that turned False, and those of the reconciler. None for success, none repeated. */
export function transitionEvents(resource: Resource, result: ReconcileResult): ResourceEvent[] {
  const turnedFalse = result.conditions.filter(({ type, status, reason }) => {
    if (status !== 'False' || type === 'Paused') return false
    const before = conditionOf(resource, type)
    if (before?.status === 'True') return true
    return EVENT_PER_REASON.includes(type) && before?.reason !== reason
  })
  const { events = [] } = result
  // One cause often turns several conditions: one Event per reason, and none where the reconciler has its own.
  const warnings = turnedFalse.filter(
    (each, at) => events.length === 0 && turnedFalse.findIndex(({ reason }) => reason === each.reason) === at,
  )
  return [...warnings.map(({ reason, message }) => ({ type: 'Warning' as const, reason, message })), ...events].map(
    (event) => ({ ...event, message: loggableText(event.message, MAX_MESSAGE_LENGTH) }),
  )
}

function withSafeMessage({ type, status, reason, message }: ConditionState): ConditionState {
  return { type, status, reason, message: loggableText(message, MAX_MESSAGE_LENGTH) }
}

function withoutUndefined(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}
