import type { Command } from 'commander'
import type { AssignmentRow } from '../decisions/assignment_row.ts'
import { withCluster } from '../cluster_options.ts'
import { awaitResult } from '../decisions/await_result.ts'
import {
  addDecisionOptions,
  approverInDirectory,
  directoryOf,
  impersonated,
  requireNamesOrSelector,
  resourceName,
  selectionOf,
} from './decision_options.ts'
import type { DecideFlags, Verb } from './decision_options.ts'
import { UsageError } from '../../process/plain_error.ts'

/** `realmkeeper approve` and `realmkeeper deny`. */
export function addDecideCommand(program: Command, { verb, decision, description }: Verb): void {
  const command = program
    .command(verb)
    .description(description)
    .argument('[name...]', 'names of RoleAssignments')
    .option('--comment <text>', 'comment to store with the decision')
    .option('-y, --yes', 'do not ask; refuse RoleAssignments that changed meanwhile')
    .option('--seen <version>', 'decide only while "show" prints this version as seen (cluster only)')
    .option('--no-wait', 'do not wait for the result of the operator')
  addDecisionOptions(command).action(async (names: string[], flags: DecideFlags) => {
    requireNamesOrSelector(names, flags)
    if (flags.seen !== undefined && names.length !== 1) throw new UsageError('--seen needs exactly one name')
    if (directoryOf(command)) await decideOnNamed(command, names, flags, decision)
    else {
      const { decideOnSelected } = await import('../decisions/cluster/decide_on_selected.ts')
      await withCluster(command, impersonated(command), async (cluster) => {
        const isDone = await decideOnSelected(cluster, {
          names,
          selection: selectionOf(cluster, flags),
          decision,
          flags,
        })
        if (!isDone) process.exitCode = 1
      })
    }
  })
}

async function decideOnNamed(
  command: Command,
  names: readonly string[],
  { namespace, comment, output, wait }: DecideFlags,
  decision: Verb['decision'],
): Promise<void> {
  const { decideInDirectory } = await import('../decisions/directory/decide_in_directory.ts')
  const { readAssignment } = await import('../decisions/directory/directory_assignments.ts')
  const where = directoryOf(command) ?? { directory: '', stateDir: '' }
  const approver = approverInDirectory(command)
  const rows: AssignmentRow[] = []

  for (const name of names) {
    const read = () => readAssignment({ ...where, name, namespace, now: new Date() })
    const before = await read()
    const decided = await decideInDirectory({ ...where, name, namespace, comment, approver, decision, now: new Date() })
    if (output === 'name') console.log(resourceName(decided))
    if (output === 'text') {
      const what = `${decided.namespace}/${decided.name}`
      const place = `generation ${decided.generation}, ${decided.file}:${decided.line}`
      if (decided.outcome === 'unchanged') {
        console.log(`${what} was already ${decision.toLowerCase()} by ${approver}`)
        continue
      }
      console.log(`${what} ${decision.toLowerCase()} by ${approver} (${place})`)
    }
    const result = wait ? await awaitResult(before, read, NOT_RECONCILED) : undefined
    if (output === 'text' && result !== undefined) console.log(result)
    rows.push(await read())
  }
  if (output === 'json') console.log(JSON.stringify(names.length === 1 ? rows[0] : rows, undefined, 2))
}

const NOT_RECONCILED = 'written, but not reconciled yet: is "realmkeeper dev" running on this directory?'
