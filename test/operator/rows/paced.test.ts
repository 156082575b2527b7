import { expect, test } from 'vitest'
import { paced } from '../../../operator/rows/paced.ts'

/** Batches that take so long; the last one finds nothing more. Returns the pauses after the others. */
async function pausesAfter(...batches: number[]): Promise<number[]> {
  let at = 0
  const pauses: number[] = []
  const clock = {
    now: () => at,
    after(millis: number, then: () => void) {
      pauses.push(millis)
      at += millis
      setImmediate(then)
      return () => {}
    },
  }
  await paced({ clock, signal: new AbortController().signal }, async () => {
    at += batches.shift() ?? 0
    return batches.length > 0
  })
  return pauses
}

test('after each batch PostgreSQL serves others for three times as long, and at most 200 ms', async () => {
  expect(await pausesAfter(10, 40, 5_000, 10)).toEqual([30, 120, 200])
})
