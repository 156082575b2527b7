import { expect, test } from 'vitest'
import { callRate } from '../../kubernetes/call_rate.ts'
import { fakeClock } from '../support/fake_clock.ts'

test('a burst of one second, then one call after the other in their order', async () => {
  const clock = fakeClock()
  const awaitTurn = callRate(4, clock)
  await clock.pass(5_000)
  const begun: number[] = []
  for (let call = 0; call < 8; call++) void awaitTurn().then(() => begun.push(call))
  await clock.pass(0)
  expect(begun).toEqual([0, 1, 2, 3])
  await clock.pass(500)
  expect(begun).toEqual([0, 1, 2, 3, 4, 5])
  await clock.pass(500)
  expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7])

  // Nothing was saved up meanwhile beyond one second.
  await clock.pass(60_000)
  begun.length = 0
  for (let call = 0; call < 9; call++) void awaitTurn().then(() => begun.push(call))
  await clock.pass(0)
  expect(begun).toHaveLength(4)
})

test('an aborted call does not wait', async () => {
  const awaitTurn = callRate(1, fakeClock())
  const stop = new AbortController()
  const waits = [awaitTurn(stop.signal), awaitTurn(stop.signal), awaitTurn(stop.signal)]
  stop.abort()
  await Promise.all(waits)
})
