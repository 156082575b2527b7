import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { answerBatch } from '../../../server/encryption/batch.ts'
import type { ItemSteps } from '../../../server/encryption/batch.ts'
import { OAuthError } from '../../../server/http/oauth_error.ts'
import type { EncryptionField } from '../../../store/realms.ts'

const field: EncryptionField = { name: 'f', tag: 'f', binding: 'Realm', maxValueBytes: 10 }

/** Steps in which every item passes, but for what a test puts in their place. */
function steps(over: Partial<ItemSteps<number>> = {}): ItemSteps<number> {
  return {
    permit: (members) => ({ item: Number(members.n), field }),
    requireNotLimited: () => {},
    apply: ({ item }) => ({ value: item }),
    ...over,
  }
}
const items = (count: number): object[] => Array.from({ length: count }, (_, n) => ({ n }))

test('results in the order of the items', async () => {
  expect(await answerBatch(items(3), steps())).toEqual([{ value: 0 }, { value: 1 }, { value: 2 }])
})

test('other requests get a turn during a batch', async () => {
  const applied: number[] = []
  const batch = answerBatch(items(256), steps({ apply: ({ item }) => ({ n: applied.push(item) }) }))
  const seen: number[] = []
  for (let turn = 0; turn < 3; turn++) {
    seen.push(applied.length)
    await nextTurn()
  }
  expect(seen).toEqual([64, 128, 192])
  expect(await batch).toHaveLength(256)
})

describe('errors of one item, and errors of the whole request', () => {
  const failing = (error: Error) => steps({ apply: ({ item }) => (item === 1 ? raise(error) : { value: item }) })

  test('an error of the caller concerns its item alone', async () => {
    const error = new OAuthError('decryption_failed', 'no')
    expect(await answerBatch(items(3), failing(error))).toEqual([
      { value: 0 },
      { error: 'decryption_failed', error_description: 'no' },
      { value: 2 },
    ])
  })

  test('a server error ends the whole request', async () => {
    const unavailable = new OAuthError('keyring_unavailable', 'no')
    await expect(answerBatch(items(3), failing(unavailable))).rejects.toBe(unavailable)
    const bug = new TypeError('bug')
    await expect(answerBatch(items(3), failing(bug))).rejects.toBe(bug)
  })

  test('a limit reached before the batch refuses the whole request, unless no item is permitted', async () => {
    const limited = new OAuthError('rate_limited', 'no')
    const refused = new OAuthError('insufficient_scope', 'no')
    const requireNotLimited = (): never => raise(limited)
    await expect(answerBatch(items(2), steps({ requireNotLimited }))).rejects.toBe(limited)
    const permit = (): never => raise(refused)
    expect(await answerBatch(items(2), steps({ requireNotLimited, permit }))).toEqual([
      refused.toJSON(),
      refused.toJSON(),
    ])
  })
})

function raise(error: Error): never {
  throw error
}
