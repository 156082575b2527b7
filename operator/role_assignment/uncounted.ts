import { nameKey } from './approver_name.ts'
import { MAX_UNCOUNTED } from './granted.ts'
import type { Granted, Uncounted } from './granted.ts'
import type { RecordedDecision } from './decision.ts'
import type { StatusDecision } from './status_decisions.ts'

/** Approvals of the present generation that are set aside, by the key of the approver's name. */
export type SetAside = ReadonlyMap<string, Uncounted>

/**
 * Who is known not to count in this generation. Decisions recorded without a memory of what they covered are among
 * them: they were made about something that is no longer known.
 */
export function setAsideSoFar(memory: Granted, recorded: readonly RecordedDecision[]): SetAside {
  const { generation, resolvedAt, uncounted = [] } = memory
  const orphans = recorded
    .filter((row) => resolvedAt === undefined && row.generation === generation && row.decision === 'Approved')
    .map(({ approver }): Uncounted => ({ approver, generation, reason: 'DecisionUnproven' }))
  const marks = [...orphans, ...uncounted.filter((mark) => mark.generation === generation)]
  return new Map(marks.map((mark) => [nameKey(mark.approver), mark]))
}

/**
 * What to remember: those set aside, and approvals of generations that are yet to come. Admission refuses the latter,
 * so they were written past it, or the cluster was set back; when their generation comes they must not be waiting.
 * They are noted anew each time they are seen, and are gone with the entry.
 */
export function remembered(
  setAside: SetAside,
  generation: number,
  stated: readonly StatusDecision[],
  recorded: readonly RecordedDecision[],
): Uncounted[] {
  const foretold = [
    ...stated.map((decision) => ({ ...decision, generation: decision.observedGeneration })),
    ...recorded,
  ]
    .filter((decision) => decision.decision === 'Approved' && decision.generation > generation)
    .map(({ approver, generation }): Uncounted => ({ approver, generation, reason: 'DecidedTooEarly' }))
    .toSorted((one, other) => one.generation - other.generation)
  const distinct = new Map(foretold.map((mark) => [`${mark.generation} ${nameKey(mark.approver)}`, mark]))
  return [...setAside.values(), ...distinct.values()].slice(0, MAX_UNCOUNTED)
}
