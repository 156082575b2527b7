import type { Command } from 'commander'
import { UsageError } from '../../process/plain_error.ts'
import { withCluster } from '../cluster_options.ts'
import { isPending } from '../decisions/assignment_row.ts'
import type { AssignmentRow } from '../decisions/assignment_row.ts'
import { assignmentText, pendingText } from '../decisions/assignment_text.ts'
import { addDecisionOptions, loginName, placeOf, requireNamesOrSelector, resourceName } from '../decisions/options.ts'
import type { DecideFlags, SelectFlags } from '../decisions/options.ts'

/** The commands for approvers: `pending`, `show`, `approve` and `deny`. */
export function addDecisionCommands(program: Command): void {
  addPending(program)
  addShow(program)
  const approve = program
    .command('approve')
    .description('approve the current version of RoleAssignments; after an edit they need a new approval')
  addDecision(approve, 'Approved')
  const deny = program
    .command('deny')
    .description('deny RoleAssignments; they stay denied until their author edits them')
  addDecision(deny, 'Denied')
}

function addPending(program: Command): void {
  const command = program.command('pending').description('list the RoleAssignments that are not granted yet')
  addDecisionOptions(command).action(async (flags: SelectFlags) => {
    const rows = (await readRows(command, [], flags)).filter(isPending)
    print(rows, flags, () => pendingText(rows))
  })
}

function addShow(program: Command): void {
  const command = program
    .command('show')
    .description('show RoleAssignments: the requested roles, what an approval changes, and the decisions')
    .argument('[name...]', 'names of RoleAssignments')
  addDecisionOptions(command).action(async (names: string[], flags: SelectFlags) => {
    requireNamesOrSelector(names, flags)
    const rows = await readRows(command, names, flags)
    const place = placeOf(command).served ? 'directory' : 'cluster'
    const text = () => rows.map((row) => assignmentText(row, place)).join('\n\n')
    print(rows, flags, text, names.length === 1)
  })
}

function addDecision(command: Command, decision: 'Approved' | 'Denied'): void {
  command
    .argument('[name...]', 'names of RoleAssignments')
    .option('--comment <text>', 'comment to store with the decision')
    .option('-y, --yes', 'do not ask; refuse RoleAssignments that change in the meantime')
    .option('--seen <version>', 'refuse unless this is still the version that "show" prints as seen')
    .option('--no-wait', 'do not wait until the operator has reconciled the decision')
  addDecisionOptions(command).action(async (names: string[], flags: DecideFlags) => {
    requireNamesOrSelector(names, flags)
    if (flags.seen !== undefined && names.length !== 1) throw new UsageError('--seen needs exactly one name')
    const { served, as } = placeOf(command)
    if (served) {
      const { decideOnNamed } = await import('../decisions/directory/decide_on_named.ts')
      await decideOnNamed(served, names, { approver: as ?? loginName(), decision }, flags)
      return
    }
    const { decideOnSelected } = await import('../decisions/cluster/decide_on_selected.ts')
    const isDone = await withCluster(command, as, (cluster) => decideOnSelected(cluster, names, decision, flags))
    if (!isDone) process.exitCode = 1
  })
}

/** The RoleAssignments of these names, or without names all that the options select. */
async function readRows(command: Command, names: readonly string[], flags: SelectFlags): Promise<AssignmentRow[]> {
  const { served, as } = placeOf(command)
  const now = new Date()
  if (!served) {
    const { selectAssignments } = await import('../decisions/cluster/cluster_assignments.ts')
    return withCluster(command, as, async (cluster) => {
      const found = await selectAssignments(cluster, names, flags, now)
      return found.map(({ row }) => row)
    })
  }
  const { listAssignments, readAssignment } = await import('../decisions/directory/directory_assignments.ts')
  const { namespace } = flags
  if (names.length === 0) return listAssignments({ ...served, namespace, now })
  return Promise.all(names.map((name) => readAssignment({ ...served, namespace, name, now })))
}

function print(rows: AssignmentRow[], { output }: SelectFlags, text: () => string, isSingle = false): void {
  if (output === 'text') console.log(text())
  else if (output === 'json') console.log(JSON.stringify(isSingle ? rows[0] : rows, undefined, 2))
  else for (const row of rows) console.log(resourceName(row))
}
