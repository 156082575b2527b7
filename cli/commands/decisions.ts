import type { Command } from 'commander'
import { isPending } from '../decisions/assignment_row.ts'
import type { AssignmentRow } from '../decisions/assignment_row.ts'
import { assignmentText, pendingText } from '../decisions/assignment_text.ts'
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

/** The commands for approvers: `pending`, `show`, `approve` and `deny`. */
export function addDecisionCommands(program: Command): void {
  addPending(program)
  addShow(program)
  addDecideCommand(program, {
    verb: 'approve',
    decision: 'Approved',
    description: 'approve the present version of RoleAssignments; an edit needs a new approval',
  })
  addDecideCommand(program, {
    verb: 'deny',
    decision: 'Denied',
    description: 'deny RoleAssignments; they stay denied until their author edits them',
  })
}

function addPending(program: Command): void {
  const command = program.command('pending').description('list the RoleAssignments that are not granted yet')
  addDecisionOptions(command).action(async (flags: WhereFlags) => {
    const where = directoryOf(command)
    if (where) {
      const { listAssignments } = await import('../decisions/directory/directory_assignments.ts')
      const rows = await listAssignments({ ...where, namespace: flags.namespace, now: new Date() })
      print(rows.filter(isPending), flags.output, pendingText)
      return
    }
    await withCluster(command, impersonated(command), async (cluster) => {
      const { listAssignments } = await import('../decisions/cluster/cluster_assignments.ts')
      const all = await listAssignments(cluster, selectionOf(cluster, flags), new Date())
      print(all.map(({ row }) => row).filter(isPending), flags.output, pendingText)
    })
  })
}

function addShow(program: Command): void {
  const command = program
    .command('show')
    .description('show RoleAssignments: the requested roles, what an approval changes, and the decisions')
    .argument('[name...]', 'names of RoleAssignments')
  addDecisionOptions(command).action(async (names: string[], flags: WhereFlags) => {
    requireNamesOrSelector(names, flags)
    const rows: AssignmentRow[] = []
    const where = directoryOf(command)
    if (where) {
      const { readAssignment } = await import('../decisions/directory/directory_assignments.ts')
      for (const name of names) {
        rows.push(await readAssignment({ ...where, name, namespace: flags.namespace, now: new Date() }))
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
