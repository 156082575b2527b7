import type { AssignmentRow } from '../assignment_row.ts'
import { requesterOf } from '../assignment_text.ts'

/** One line for each fact that matters to a decision and differs between two states of a RoleAssignment. */
export function differenceOf(before: AssignmentRow, after: AssignmentRow): string[] {
  const then = factsOf(before)
  const lines = Object.entries(factsOf(after)).flatMap(([fact, value]) => {
    return then[fact] === value ? [] : [`${fact}: ${then[fact]} → ${value}`]
  })
  if (before.uid !== after.uid) return ['it is another object: it was deleted and created again', ...lines]
  return lines
}

function factsOf(row: AssignmentRow): Record<string, string> {
  return {
    generation: String(row.generation),
    realm: `${row.realm.namespace}/${row.realm.name}`,
    subject: `${row.subject.kind} ${row.subject.name}`,
    roles: list(row.roles),
    adds: list(row.change.adds),
    keeps: list(row.change.keeps),
    removes: list(row.change.removes),
    reason: row.reason ?? 'none given',
    'requested by': requesterOf(row),
    'also written by': list(row.formerRequesters),
    ends: row.expiresAt ?? (row.durationSeconds === undefined ? 'never' : `${row.durationSeconds} s after the grant`),
    state: row.state,
    approvals: `${row.quorum.approved} of ${row.quorum.required}`,
    decisions: list(row.decisions.filter(({ counts }) => counts).map((one) => `${one.decision} by ${one.approver}`)),
  }
}

function list(items: readonly string[]): string {
  return items.length === 0 ? '-' : items.join(', ')
}
