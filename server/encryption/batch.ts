import { setImmediate as nextTurn } from 'node:timers/promises'
import { OAuthError } from '../http/oauth_error.ts'
import { readItemId } from './item.ts'
import type { ItemId } from './item.ts'
import type { ItemSteps, Permitted } from './item_steps.ts'
import { isMembers } from './request_body.ts'

/** Items done before other requests get a turn; so many take a millisecond or two. */
const ITEMS_A_TURN = 64

/**
 * One result for each item, in order: an answer, or an error that is that item's alone. What is wrong with the whole
 * request is thrown: a subject that had failed too often before, a keyring that is not there.
 */
export async function answerBatch<Item>(items: readonly unknown[], steps: ItemSteps<Item>): Promise<object[]> {
  const entries = items.map((item) => readEntry(item, steps))
  if (entries.some(({ permitted }) => !(permitted instanceof OAuthError))) steps.requireNotLimited()

  const results: object[] = []
  for (const { id, permitted } of entries) {
    if (results.length > 0 && results.length % ITEMS_A_TURN === 0) await nextTurn()
    results.push({ ...id, ...applyEntry(permitted, steps) })
  }
  return results
}

interface Entry<Item> {
  id: ItemId
  permitted: Permitted<Item> | OAuthError
}

function readEntry<Item>(item: unknown, steps: ItemSteps<Item>): Entry<Item> {
  if (!isMembers(item)) return { id: {}, permitted: new OAuthError('invalid_request', 'An item must be an object') }
  const id = orItsError(() => readItemId(item))
  if (id instanceof OAuthError) return { id: {}, permitted: id }
  return { id, permitted: orItsError(() => steps.permit(item)) }
}

function applyEntry<Item>(permitted: Permitted<Item> | OAuthError, steps: ItemSteps<Item>): object {
  if (permitted instanceof OAuthError) return permitted.toJSON()
  const answer = orItsError(() => {
    // Items before this one may have been the failures that are too many.
    steps.requireNotLimited()
    return steps.apply(permitted)
  })
  return answer instanceof OAuthError ? answer.toJSON() : answer
}

/** An error of the item's own comes back as a value; what concerns more than the item is thrown on. */
function orItsError<Result>(work: () => Result): Result | OAuthError {
  try {
    return work()
  } catch (error) {
    if (error instanceof OAuthError && error.status < 500) return error
    throw error
  }
}
