import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EncryptionField } from '../../store/realms.ts'
import { OAuthError } from '../http/oauth_error.ts'
import { isMembers, readItemId } from './request_body.ts'
import type { ItemId, Members } from './request_body.ts'

/** An item that passed shape, permission and limits. */
export interface Permitted<Item> {
  item: Item
  field: EncryptionField
}

/** The steps that every item goes through, in a single request and in a batch. */
export interface ItemSteps<Item> {
  /** Shape, permission, limits. @throws OAuthError */
  permit(members: Members): Permitted<Item>
  /** @throws OAuthError 429 while the subject has failed too often */
  requireNotLimited(): void
  /** The key. @throws OAuthError */
  apply(permitted: Permitted<Item>): object
}

/** Items between two turns of the event loop, which other requests get; so many take a millisecond or two. */
const ITEMS_A_TURN = 64

/**
 * One result for each item, in order: an answer, or the error of that item. Throws what concerns the whole request: a
 * subject that has failed too often, a keyring that is not loaded.
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
  const id = orItemError(() => readItemId(item))
  if (id instanceof OAuthError) return { id: {}, permitted: id }
  return { id, permitted: orItemError(() => steps.permit(item)) }
}

function applyEntry<Item>(permitted: Permitted<Item> | OAuthError, steps: ItemSteps<Item>): object {
  if (permitted instanceof OAuthError) return permitted.toJSON()
  const answer = orItemError(() => {
    // The items before this one may have used up the limit.
    steps.requireNotLimited()
    return steps.apply(permitted)
  })
  return answer instanceof OAuthError ? answer.toJSON() : answer
}

/** Returns an error that concerns the item alone; throws every other one. */
function orItemError<Result>(work: () => Result): Result | OAuthError {
  try {
    return work()
  } catch (error) {
    if (error instanceof OAuthError && error.status < 500) return error
    throw error
  }
}
