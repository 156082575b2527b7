import { setTimeout as sleep } from 'node:timers/promises'
import type { AssignmentRow } from '../decisions/assignment_row.ts'

const LOOK_MILLIS = 100
/** In a directory it looks every 500 ms. */
const PATIENCE_MILLIS = 4_000

/**
 * What became of an assignment after a decision was written: waits until the operator has said something new
 * about it, so that a next command finds it done. One line for a person.
 * @param look the assignment as held at this moment
 * @param unseen what to say when nobody looked at the decision in time
 */
export async function outcomeAfter(
  before: AssignmentRow,
  look: () => Promise<AssignmentRow>,
  unseen: string,
): Promise<string> {
  const said = saidOf(before)
  for (let waited = 0; waited < PATIENCE_MILLIS; waited += LOOK_MILLIS) {
    const row = await look()
    if (saidOf(row) !== said) return resultOf(row)
    await sleep(LOOK_MILLIS)
  }
  const row = await look()
  if (row.decisions.length > before.decisions.length) return resultOf(row)
  return unseen
}

function saidOf({ state, ready, generation }: AssignmentRow): string {
  return JSON.stringify([state, ready, generation])
}

function resultOf({ state, ready }: AssignmentRow): string {
  if (!ready) return state
  return ready.message.startsWith(state) ? ready.message : `${state}: ${ready.message}`
}
