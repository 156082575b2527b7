import { userInfo } from 'node:os'
import { Option } from 'commander'
import type { Command } from 'commander'
import type { AssignmentRow } from '../decisions/assignment_row.ts'
import { APPROVER_SETTINGS } from '../../process/config.ts'
import { stateDirectoryOf } from '../dev/state_directory.ts'
import { addSettings, configOf } from '../options.ts'
import { PlainError } from '../plain_error.ts'
import { outcomeAfter } from './decision_outcome.ts'
import { assignmentText, pendingText } from './assignment_text.ts'

type Output = 'text' | 'json' | 'name'

const { as: _as, ...WHERE_SETTINGS } = APPROVER_SETTINGS

/** `realmkeeper pending`, `show`, `approve`, `deny`: the approver's side of RoleAssignments. */
export function addDecisionCommands(program: Command): void {
  addPending(program)
  addShow(program)
  addDecision(
    program,
    'approve',
    'Approved',
    'approve a RoleAssignment as it stands now; an edit afterwards needs a new approval',
  )
  addDecision(program, 'deny', 'Denied', 'deny a RoleAssignment; it stays denied until its author edits it')
}

function addPending(program: Command): void {
  const command = program
    .command('pending')
    .description('list the RoleAssignments that wait for something')
    .option('-n, --namespace <name>', 'only of this namespace')
    .addOption(outputOption(['text', 'json', 'name']))
  addSettings(command, WHERE_SETTINGS).action(async ({ namespace, output }: { namespace?: string; output: Output }) => {
    const { listPending } = await import('../decisions/list_assignments.ts')
    const rows = await listPending({ ...whereOf(command), namespace, now: new Date() })
    if (output === 'json') console.log(JSON.stringify(rows, undefined, 2))
    else if (output === 'name') rows.forEach((row) => console.log(resourceName(row)))
    else console.log(pendingText(rows))
  })
}

function addShow(program: Command): void {
  const command = program
    .command('show')
    .description('show one RoleAssignment: what it asks for, what granting it changes, who has decided')
    .argument('<name>', 'name of the RoleAssignment')
    .option('-n, --namespace <name>', 'where two namespaces hold one of this name')
    .addOption(outputOption(['text', 'json', 'name']))
  addSettings(command, WHERE_SETTINGS).action(
    async (name: string, { namespace, output }: { namespace?: string; output: Output }) => {
      const { describeAssignment } = await import('../decisions/list_assignments.ts')
      const row = await describeAssignment({ ...whereOf(command), name, namespace, now: new Date() })
      if (output === 'json') console.log(JSON.stringify(row, undefined, 2))
      else if (output === 'name') console.log(resourceName(row))
      else console.log(assignmentText(row))
    },
  )
}

function addDecision(program: Command, verb: string, decision: 'Approved' | 'Denied', description: string): void {
  const command = program
    .command(verb)
    .description(description)
    .argument('<name>', 'name of the RoleAssignment')
    .option('-n, --namespace <name>', 'where two namespaces hold one of this name')
    .option('--comment <text>', 'said to whoever reads the assignment')
  addSettings(command, APPROVER_SETTINGS).action(
    async (name: string, { namespace, comment }: { namespace?: string; comment?: string }) => {
      const { decide } = await import('../decisions/decide.ts')
      const { describeAssignment } = await import('../decisions/list_assignments.ts')
      const approver = configOf(command, APPROVER_SETTINGS).as ?? loginName()
      const look = () => describeAssignment({ ...whereOf(command), name, namespace, now: new Date() })
      const before = await look()
      const decided = await decide({
        ...whereOf(command),
        name,
        namespace,
        comment,
        approver,
        decision,
        now: new Date(),
      })

      const what = `${decided.namespace}/${decided.name}`
      if (decided.outcome === 'unchanged') {
        console.log(`${what} had been ${decision.toLowerCase()} by ${approver} before`)
        return
      }
      const place = `generation ${decided.generation}, ${decided.file}:${decided.line}`
      console.log(`${what} ${decision.toLowerCase()} by ${approver} (${place})`)
      console.log(await outcomeAfter(before, look))
    },
  )
}

function outputOption(formats: Output[]): Option {
  return new Option('-o, --output <format>', 'how it is printed').choices(formats).default('text')
}

/** The directory that decisions are written in, and the state of the process that serves it. */
function whereOf(command: Command): { directory: string; stateDir: string } {
  const { dir, stateDir } = configOf(command, WHERE_SETTINGS)
  if (dir !== undefined) return { directory: dir, stateDir: stateDirectoryOf(dir, stateDir) }
  throw new PlainError(
    'which directory? Give --dir (REALMKEEPER_DIR) with the manifests that "realmkeeper dev" serves; ' +
      'deciding in a cluster is not part of this version',
  )
}

function loginName(): string {
  try {
    return userInfo().username
  } catch {
    throw new PlainError('this account has no login name: say who decides with --as')
  }
}

/** As kubectl writes it. */
function resourceName({ name }: AssignmentRow): string {
  return `roleassignment.realmkeeper.io/${name}`
}
