import type { AssignmentRow } from '../assignment_row.ts'
import { awaitResult } from '../await_result.ts'
import { resourceName } from '../options.ts'
import type { DecideFlags, ServedDirectory } from '../options.ts'
import { decideInDirectory } from './decide_in_directory.ts'
import type { DecideOptions } from './decide_in_directory.ts'
import { readAssignment } from './directory_assignments.ts'

const NOT_RECONCILED = 'written, but not reconciled yet: is "realmkeeper dev" running on this directory?'

/** Decides on RoleAssignments of a directory, one after the other, and prints the results. Throws PlainError. */
export async function decideOnNamed(
  served: ServedDirectory,
  names: readonly string[],
  { approver, decision }: Pick<DecideOptions, 'approver' | 'decision'>,
  { namespace, comment, seen, output, wait }: DecideFlags,
): Promise<void> {
  const done = `${decision.toLowerCase()} by ${approver}`
  const rows: AssignmentRow[] = []
  for (const name of names) {
    const key = { ...served, namespace, name }
    const read = () => readAssignment({ ...key, now: new Date() })
    const before = await read()
    const decided = await decideInDirectory({ ...key, approver, decision, comment, seen, now: new Date() })
    const isRecorded = decided.outcome === 'recorded'
    const what = `${decided.namespace}/${decided.name}`
    if (output === 'name') console.log(resourceName(decided))
    if (output === 'text') {
      const place = `generation ${decided.generation}, ${decided.file}:${decided.line}`
      console.log(isRecorded ? `${what} ${done} (${place})` : `${what} was already ${done}`)
    }
    const result = wait && isRecorded ? await awaitResult(before, read, NOT_RECONCILED) : undefined
    if (output === 'text' && result !== undefined) console.log(result)
    if (output === 'json') rows.push(await read())
  }
  if (output === 'json') console.log(JSON.stringify(names.length === 1 ? rows[0] : rows, undefined, 2))
}
