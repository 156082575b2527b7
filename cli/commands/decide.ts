import type { Command } from 'commander'
import type { AssignmentRow } from '../decisions/assignment_row.ts'
import { withCluster } from '../cluster_options.ts'
import { outcomeAfter } from './decision_outcome.ts'
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
    .option('--comment <text>', 'said to whoever reads the assignment')
    .option('-y, --yes', 'do not ask; what was changed meanwhile is not decided on')
    .option('--seen <version>', 'decide only while "show" still prints this as what was seen (in a cluster)')
    .option('--no-wait', 'do not wait for the operator to say what became of it')
  addDecisionOptions(command).action(async (names: string[], flags: DecideFlags) => {
    requireNamesOrSelector(names, flags)
    if (flags.seen !== undefined && names.length !== 1) throw new UsageError('--seen is about one name')
    if (directoryOf(command)) await decideInDirectory(command, names, flags, decision)
    else {
      const { decideOnSelected } = await import('./decide_in_cluster.ts')
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

async function decideInDirectory(
  command: Command,
  names: readonly string[],
  { namespace, comment, output, wait }: DecideFlags,
  decision: Verb['decision'],
): Promise<void> {
  const { decide } = await import('../decisions/decide.ts')
  const { describeAssignment } = await import('../decisions/list_assignments.ts')
  const where = directoryOf(command) ?? { directory: '', stateDir: '' }
  const approver = approverInDirectory(command)
  const rows: AssignmentRow[] = []

  for (const name of names) {
    const look = () => describeAssignment({ ...where, name, namespace, now: new Date() })
    const before = await look()
    const decided = await decide({ ...where, name, namespace, comment, approver, decision, now: new Date() })
    if (output === 'name') console.log(resourceName(decided))
    if (output === 'text') {
      const what = `${decided.namespace}/${decided.name}`
      const place = `generation ${decided.generation}, ${decided.file}:${decided.line}`
      if (decided.outcome === 'unchanged') {
        console.log(`${what} had been ${decision.toLowerCase()} by ${approver} before`)
        continue
      }
      console.log(`${what} ${decision.toLowerCase()} by ${approver} (${place})`)
    }
    const said = wait ? await outcomeAfter(before, look, NOT_SERVED) : undefined
    if (output === 'text' && said !== undefined) console.log(said)
    rows.push(await look())
  }
  if (output === 'json') console.log(JSON.stringify(names.length === 1 ? rows[0] : rows, undefined, 2))
}

const NOT_SERVED = 'written, and not looked at yet: is "realmkeeper dev" running on this directory?'
