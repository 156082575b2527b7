import type { Command } from 'commander'
import type { AssignmentRow } from '../decisions/assignment_row.ts'
import { assignmentText, pendingText } from './assignment_text.ts'
import { withCluster } from '../cluster_options.ts'
import { addDecideCommand } from './decide.ts'
import {
  addDecisionOptions,
  directoryOf,
  impersonated,
  requireNamesOrSelector,
  resourceName,
  selectionOf,
} from './decision_options.ts'
import type { Output, WhereFlags } from './decision_options.ts'

/** `realmkeeper pending`, `show`, `approve`, `deny`: the approver's side of RoleAssignments. */
export function addDecisionCommands(program: Command): void {
  addPending(program)
  addShow(program)
  addDecideCommand(program, {
    verb: 'approve',
    decision: 'Approved',
    description: 'approve RoleAssignments as they stand now; an edit afterwards needs a new approval',
  })
  addDecideCommand(program, {
    verb: 'deny',
    decision: 'Denied',
    description: 'deny RoleAssignments; they stay denied until their author edits them',
  })
}

function addPending(program: Command): void {
  const command = program.command('pending').description('list the RoleAssignments that wait for something')
  addDecisionOptions(command).action(async (flags: WhereFlags) => {
    const where = directoryOf(command)
    if (where) {
      const { listPending } = await import('../decisions/list_assignments.ts')
      print(await listPending({ ...where, namespace: flags.namespace, now: new Date() }), flags.output, pendingText)
      return
    }
    await withCluster(command, impersonated(command), async (cluster) => {
      const { listAssignments } = await import('../decisions/cluster/cluster_assignments.ts')
      const all = await listAssignments(cluster, selectionOf(cluster, flags), new Date())
      const waiting = all.map(({ row }) => row).filter(({ state }) => state === 'waiting')
      print(waiting, flags.output, pendingText)
    })
  })
}

function addShow(program: Command): void {
  const command = program
    .command('show')
    .description('show RoleAssignments: what they ask for, what granting it changes, who has decided')
    .argument('[name...]', 'names of RoleAssignments')
  addDecisionOptions(command).action(async (names: string[], flags: WhereFlags) => {
    requireNamesOrSelector(names, flags)
    const rows: AssignmentRow[] = []
    const where = directoryOf(command)
    if (where) {
      const { describeAssignment } = await import('../decisions/list_assignments.ts')
      for (const name of names) {
        rows.push(await describeAssignment({ ...where, name, namespace: flags.namespace, now: new Date() }))
      }
    } else {
      await withCluster(command, impersonated(command), async (cluster) => {
        const { selectAssignments } = await import('../decisions/cluster/cluster_assignments.ts')
        const seen = await selectAssignments(cluster, names, selectionOf(cluster, flags), new Date())
        rows.push(...seen.map(({ row }) => row))
      })
    }
    const place = where ? 'directory' : 'cluster'
    const text = () => rows.map((row) => assignmentText(row, place)).join('\n\n')
    print(names.length === 1 ? (rows[0] ?? rows) : rows, flags.output, text)
  })
}

function print<Rows extends AssignmentRow | AssignmentRow[]>(
  rows: Rows,
  output: Output,
  asText: (rows: Rows) => string,
): void {
  if (output === 'json') console.log(JSON.stringify(rows, undefined, 2))
  else if (output === 'text') console.log(asText(rows))
  else for (const row of Array.isArray(rows) ? rows : [rows]) console.log(resourceName(row))
}
