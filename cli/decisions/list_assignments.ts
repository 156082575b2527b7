import { keyText } from '../../operator/source/resource.ts'
import type { StoredObject } from '../../operator/source/directory/state/stored_object.ts'
import { assignmentRow } from './assignment_row.ts'
import type { AssignmentRow, RealmLookup, RealmObject } from './assignment_row.ts'
import { getAssignment, heldAssignments, heldState, writtenAssignments } from './find_assignment.ts'
import type { AssignmentName, WrittenAssignment } from './find_assignment.ts'

export interface ListOptions {
  directory: string
  stateDir: string
  now: Date
  namespace?: string | undefined
}

/** The RoleAssignments that wait for something, oldest first. Throws DecisionError when nothing serves the directory. */
export async function listPending({ directory, stateDir, now, namespace }: ListOptions): Promise<AssignmentRow[]> {
  const held = heldState(stateDir)
  const { byKey } = await writtenAssignments(directory)
  return heldAssignments(held)
    .filter((assignment) => namespace === undefined || assignment.namespace === namespace)
    .map((assignment) => withPlace(assignmentRow(assignment, realmsIn(held), now), byKey))
    .filter(({ state }) => state === 'waiting')
    .toSorted((a, b) => b.ageSeconds - a.ageSeconds)
}

/** One RoleAssignment, whatever became of it. Throws DecisionError, with what comes near. */
export async function describeAssignment(options: ListOptions & AssignmentName): Promise<AssignmentRow> {
  const held = heldState(options.stateDir)
  const assignment = getAssignment(held, options)
  const { byKey } = await writtenAssignments(options.directory)
  return withPlace(assignmentRow(assignment, realmsIn(held), options.now), byKey)
}

function realmsIn(held: ReadonlyMap<string, StoredObject>): RealmLookup {
  return (realm) => {
    const found = held.get(keyText({ kind: 'Realm', ...realm }))
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- held specs fit the schema that the type is made from
    return found?.kind === 'Realm' ? (found as RealmObject) : undefined
  }
}

function withPlace(row: AssignmentRow, byKey: Map<string, WrittenAssignment>): AssignmentRow {
  const written = byKey.get(keyText({ kind: 'RoleAssignment', namespace: row.namespace, name: row.name }))
  return written ? { ...row, file: written.file, line: written.line } : row
}
