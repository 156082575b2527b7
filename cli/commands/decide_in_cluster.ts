import { createInterface } from 'node:readline'
import type { AssignmentRow } from '../decisions/assignment_row.ts'
import { readUserName } from '../decisions/cluster/caller.ts'
import { readAssignment, selectAssignments } from '../decisions/cluster/cluster_assignments.ts'
import type { Selection } from '../decisions/cluster/cluster_assignments.ts'
import { decideInCluster } from '../decisions/cluster/decide_in_cluster.ts'
import type { DecidedInCluster, Decision } from '../decisions/cluster/decide_in_cluster.ts'
import type { Cluster } from '../kubeconfig.ts'
import { isPlainError, PlainError } from '../../process/plain_error.ts'
import { assignmentText, seenVersion } from './assignment_text.ts'
import { outcomeAfter } from './decision_outcome.ts'
import { resourceName } from './decision_options.ts'
import type { DecideFlags, Verb } from './decision_options.ts'

export interface Selected {
  names: readonly string[]
  selection: Selection
  decision: Verb['decision']
  flags: DecideFlags
}

/**
 * Decides on the RoleAssignments that are named, or on those among the selected that wait, one after the other; one that
 * is refused does not keep the others from being decided on. Resolves with whether every one was decided as told.
 */
export async function decideOnSelected(cluster: Cluster, selected: Selected): Promise<boolean> {
  const { names, selection, decision, flags } = selected
  const userName = await readUserName(cluster)
  const found = await selectAssignments(cluster, names, selection, new Date())
  const meant = names.length > 0 ? found : found.filter(({ row }) => row.state === 'waiting')
  if (meant.length === 0) {
    console.error('realmkeeper: nothing waits that has these labels')
    return false
  }

  const other = meant.find(({ row }) => flags.seen !== undefined && seenVersion(row) !== flags.seen)
  if (other) {
    throw new PlainError(
      `RoleAssignment ${other.row.namespace}/${other.row.name} is ${seenVersion(other.row)} by now, and not what was ` +
        'seen: look at it again (realmkeeper show)',
    )
  }

  let isStopped = false
  const isAsking = flags.yes !== true && process.stdin.isTTY && process.stderr.isTTY
  const options: Decision = {
    cluster,
    userName,
    decision,
    comment: flags.comment,
    now: () => new Date(),
    ask: isAsking ? (row, difference) => askOnTerminal(row, difference, decision, () => (isStopped = true)) : undefined,
  }
  const decided: DecidedInCluster[] = []
  let isDone = true
  for (const seen of meant) {
    if (isStopped) break
    try {
      const one = await decideInCluster(options, seen)
      decided.push(one)
      if (flags.output === 'text') console.log(sentenceOf(one, options))
      if (flags.output === 'name' && one.outcome !== 'declined') console.log(resourceName(one.row))
      if (one.outcome === 'declined') isDone = false
    } catch (error) {
      if (!isPlainError(error)) throw error
      console.error(`realmkeeper: ${error.message}`)
      isDone = false
    }
  }
  await tellOutcomes(cluster, decided, flags, names.length === 1)
  return isDone
}

/** Together, as each takes its time. */
async function tellOutcomes(
  cluster: Cluster,
  decided: readonly DecidedInCluster[],
  { output, wait }: DecideFlags,
  single: boolean,
): Promise<void> {
  const read = async (row: AssignmentRow) => (await readAssignment(cluster, row, new Date())).row
  const recorded = wait ? decided.filter(({ outcome }) => outcome === 'recorded') : []
  const said = await Promise.all(
    recorded.map(async ({ row }) => {
      // The decision itself is no news.
      const { decisions } = await read(row)
      const unseen = `written; the operator has not said what it makes of it yet (realmkeeper show ${row.name} tells)`
      return `${row.namespace}/${row.name} ${await outcomeAfter({ ...row, decisions }, () => read(row), unseen)}`
    }),
  )
  if (output === 'text') for (const line of said) console.log(line)
  if (output !== 'json') return
  const results = await Promise.all(decided.map(async ({ outcome, row }) => ({ outcome, ...(await read(row)) })))
  console.log(JSON.stringify(single ? (results[0] ?? []) : results, undefined, 2))
}

function sentenceOf({ outcome, row }: DecidedInCluster, { userName, decision }: Decision): string {
  const what = `${row.namespace}/${row.name}`
  const done = decision.toLowerCase()
  if (outcome === 'unchanged') return `${what} had been ${done} by ${userName} before`
  if (outcome === 'declined') return `${what} not ${done}`
  const adds = row.change.adds.length === 0 ? 'nothing new' : row.change.adds.join(', ')
  return `${what} ${done} by ${userName} (generation ${row.generation}: ${adds} for ${row.subject.name})`
}

/** No answer, as Ctrl-C or Ctrl-D give none, is no to this one and to all that follow: it calls `stop`. */
async function askOnTerminal(
  row: AssignmentRow,
  difference: string[],
  decision: Verb['decision'],
  stop: () => void,
): Promise<boolean> {
  const changed = difference.length === 0 ? [] : ['It was changed since it was shown:', ...difference.map(indented), '']
  console.error(`\n${[...changed, assignmentText(row, 'cluster')].join('\n')}\n`)
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await new Promise<string | undefined>((resolve) => {
    terminal.once('close', () => resolve(undefined))
    terminal.question(`${decision === 'Approved' ? 'Approve' : 'Deny'} this? [y/N] `, resolve)
  })
  terminal.close()
  if (answer === undefined) {
    console.error()
    stop()
  }
  return /^y(es)?$/i.test(answer?.trim() ?? '')
}

function indented(line: string): string {
  return `  ${line}`
}
