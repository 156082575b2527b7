import { setTimeout as sleep } from 'node:timers/promises'
import type { AssignmentRow } from './assignment_row.ts'

const POLL_MILLIS = 100
/** The operator reads a directory every 500 ms. */
const MAX_WAIT_MILLIS = 4_000

/**
 * Waits until the operator has reconciled a new decision, so that the next command finds the result. Resolves with one
 * line of text: the result, or `otherwise` when the operator has not reconciled it in time.
 * @param before the row before the decision
 */
export async function awaitResult(
  before: AssignmentRow,
  read: () => Promise<AssignmentRow>,
  otherwise: string,
): Promise<string> {
  for (let waited = 0; waited < MAX_WAIT_MILLIS; waited += POLL_MILLIS) {
    const row = await read()
    if (publishedState(row) !== publishedState(before)) return resultText(row)
    await sleep(POLL_MILLIS)
  }
  const row = await read()
  return row.decisions.length > before.decisions.length ? resultText(row) : otherwise
}

function publishedState({ state, ready, generation }: AssignmentRow): string {
  return JSON.stringify([state, ready, generation])
}

function resultText({ state, ready }: AssignmentRow): string {
  if (!ready) return state
  return ready.message.startsWith(state) ? ready.message : `${state}: ${ready.message}`
}
