import { createInterface } from 'node:readline'
import { isPending } from '../assignment_row.ts'
import type { AssignmentRow } from '../assignment_row.ts'
import { readAssignment, selectAssignments } from './cluster_assignments.ts'
import { decideInCluster } from './decide_in_cluster.ts'
import type { DecidedInCluster, Decision } from './decide_in_cluster.ts'
import { readUserName } from '../../cluster.ts'
import type { Cluster } from '../../cluster.ts'
import { isPlainError } from '../../../process/plain_error.ts'
import { requireSeen } from '../approval.ts'
import { assignmentText } from '../assignment_text.ts'
import { awaitResult } from '../await_result.ts'
import { resourceName } from '../options.ts'
import type { DecideFlags } from '../options.ts'

/**
 * Decides on the named RoleAssignments, or on the selected ones that are pending, one after the other. A refusal does not
 * stop the others. Resolves with whether all were decided.
 */
export async function decideOnSelected(
  cluster: Cluster,
  names: readonly string[],
  decision: Decision['decision'],
  flags: DecideFlags,
): Promise<boolean> {
  const userName = await readUserName(cluster)
  const found = await selectAssignments(cluster, names, flags, new Date())
  const selected = names.length > 0 ? found : found.filter(({ row }) => isPending(row))
  if (selected.length === 0) {
    console.error('realmkeeper: no pending RoleAssignment has these labels')
    return false
  }

  for (const { row } of selected) requireSeen(row, flags.seen)

  let isStopped = false
  const isAsking = flags.yes !== true && process.stdin.isTTY && process.stderr.isTTY
  const options: Decision = {
    cluster,
    userName,
    decision,
    comment: flags.comment,
    now: () => new Date(),
    ask: isAsking
      ? (row, difference) => confirmOnTerminal(row, difference, decision, () => (isStopped = true))
      : undefined,
  }
  const decided: DecidedInCluster[] = []
  let isDone = true
  for (const snapshot of selected) {
    if (isStopped) break
    try {
      const one = await decideInCluster(options, snapshot)
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
  await printResults(cluster, decided, flags, names.length === 1)
  return isDone
}

/** Waits for all results at the same time. */
async function printResults(
  cluster: Cluster,
  decided: readonly DecidedInCluster[],
  { output, wait }: DecideFlags,
  single: boolean,
): Promise<void> {
  const read = async (row: AssignmentRow) => (await readAssignment(cluster, row, new Date())).row
  const recorded = wait ? decided.filter(({ outcome }) => outcome === 'recorded') : []
  const lines = await Promise.all(
    recorded.map(async ({ row }) => {
      // The new decision alone is no result of the operator.
      const { decisions } = await read(row)
      const unseen = `written; the operator has not reconciled it yet (realmkeeper show ${row.name} prints the result)`
      return `${row.namespace}/${row.name} ${await awaitResult({ ...row, decisions }, () => read(row), unseen)}`
    }),
  )
  if (output === 'text') for (const line of lines) console.log(line)
  if (output !== 'json') return
  const results = await Promise.all(decided.map(async ({ outcome, row }) => ({ outcome, ...(await read(row)) })))
  console.log(JSON.stringify(single ? (results[0] ?? []) : results, undefined, 2))
}

function sentenceOf({ outcome, row }: DecidedInCluster, { userName, decision }: Decision): string {
  const what = `${row.namespace}/${row.name}`
  const done = decision.toLowerCase()
  if (outcome === 'unchanged') return `${what} was already ${done} by ${userName}`
  if (outcome === 'declined') return `${what} not ${done}`
  const adds = row.change.adds.length === 0 ? 'nothing new' : row.change.adds.join(', ')
  return `${what} ${done} by ${userName} (generation ${row.generation}: ${adds} for ${row.subject.name})`
}

/** Ctrl-C and Ctrl-D give no answer: that declines this RoleAssignment and, by `stop`, all that follow. */
async function confirmOnTerminal(
  row: AssignmentRow,
  difference: string[],
  decision: Decision['decision'],
  stop: () => void,
): Promise<boolean> {
  const changed = difference.length === 0 ? [] : ['It changed since it was shown:', ...difference.map(indented), '']
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
