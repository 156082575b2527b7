import { describe, expect, test } from 'vitest'
import { backoffMillis } from '../../../kubernetes/clock.ts'
import { createQueue } from '../../../operator/controller/queue.ts'
import type { QueueOptions } from '../../../operator/controller/queue.ts'
import { fakeClock } from '../../support/fake_clock.ts'

class Away extends Error {}

/** A queue whose work ends when the test says so, and fails with the errors in `failing`. */
function queueUnderTest(options: Partial<QueueOptions> = {}) {
  const clock = fakeClock()
  const log: string[] = []
  const failing = new Map<string, Error>()
  const after = new Map<string, number>()
  const open = new Map<string, () => void>()
  const slow = new Set<string>()
  const queue = createQueue({
    workers: 1,
    clock,
    // The longest of each backoff.
    random: () => 1,
    isOutage: (error) => error instanceof Away,
    async work(key) {
      log.push(`${key}@${clock.now()}`)
      if (slow.has(key)) await new Promise<void>((resolve) => open.set(key, resolve))
      const error = failing.get(key)
      if (error) throw error
      return after.get(key)
    },
    ...options,
  })
  return { clock, log, failing, after, open, slow, queue }
}

describe('the work queue', () => {
  test('works once on a key that was added several times', async () => {
    const { queue, clock, log, slow, open } = queueUnderTest()
    slow.add('first')
    queue.add('first')
    for (let n = 0; n < 5; n++) queue.add('a')
    open.get('first')?.()
    await clock.pass(0)
    expect(log).toEqual(['first@0', 'a@0'])
  })

  test('never has a key in two workers, and works on it once more when it was added meanwhile', async () => {
    const { queue, clock, log, slow, open } = queueUnderTest({ workers: 4 })
    slow.add('a')
    queue.add('a')
    queue.add('a')
    queue.add('a')
    await clock.pass(0)
    expect(log).toEqual(['a@0'])
    slow.delete('a')
    open.get('a')?.()
    await clock.pass(0)
    expect(log).toEqual(['a@0', 'a@0'])
  })

  test('runs as many keys at once as it has workers', async () => {
    const { queue, slow } = queueUnderTest({ workers: 2 })
    for (const key of ['a', 'b', 'c']) {
      slow.add(key)
      queue.add(key)
    }
    expect(queue.stats()).toMatchObject({ running: 2, ready: 1 })
  })

  test('takes the namespaces in turn, so that a storm in one delays no other', async () => {
    const { queue, clock, log, slow, open } = queueUnderTest()
    slow.add('first')
    queue.add('first')
    for (let n = 0; n < 1_000; n++) queue.add(`storm/${n}`)
    for (const key of ['shop/a', 'shop/b', 'bank/a']) queue.add(key)
    open.get('first')?.()
    await clock.pass(0)
    const keys = log.map((entry) => entry.split('@')[0])
    expect(keys.slice(0, 7)).toEqual(['first', 'storm/0', 'shop/a', 'bank/a', 'storm/1', 'shop/b', 'storm/2'])
    expect(keys).toHaveLength(1_004)
  })

  test('a namespace that comes back after a while waits no longer than others', async () => {
    const { queue, clock, log, slow, open } = queueUnderTest()
    slow.add('first')
    queue.add('first')
    for (let n = 0; n < 3; n++) queue.add(`storm/${n}`, 'back')
    queue.add('shop/a', 'back')
    queue.add('shop/a', 'front')
    open.get('first')?.()
    await clock.pass(0)
    queue.add('shop/a', 'back')
    await clock.pass(0)
    expect(log.map((entry) => entry.split('@')[0])).toEqual([
      'first',
      'shop/a',
      'storm/0',
      'storm/1',
      'storm/2',
      'shop/a',
    ])
    expect(queue.stats()).toMatchObject({ ready: 0, oldestMillis: 0 })
  })

  test('retries a failing key with doubling, capped backoff, and resets it on success', async () => {
    const { queue, clock, log, failing } = queueUnderTest()
    failing.set('a', new Error('no'))
    queue.add('a')
    await clock.pass(1_500)
    expect(log).toEqual(['a@0', 'a@200', 'a@600', 'a@1400'])
    await clock.pass(10 * 60_000)
    const [last, before] = log.slice(-2).map((entry) => Number(entry.split('@')[1]))
    expect((before ?? 0) - (last ?? 0)).toBe(60_000)

    failing.clear()
    await clock.pass(60_000)
    failing.set('a', new Error('again'))
    const from = clock.now()
    log.length = 0
    queue.add('a')
    await clock.pass(700)
    expect(log).toEqual([`a@${from}`, `a@${from + 200}`, `a@${from + 600}`])
  })

  test('does not let failing keys delay others', async () => {
    const { queue, clock, log, failing } = queueUnderTest()
    for (const key of ['bad1', 'bad2', 'bad3']) {
      failing.set(key, new Error('no'))
      queue.add(key)
    }
    queue.add('good')
    await clock.pass(0)
    expect(log).toContain('good@0')
  })

  test('requeues a key after the time that its work returned, or earlier when it is added', async () => {
    const { queue, clock, log, after } = queueUnderTest()
    after.set('a', 1_000)
    queue.add('a')
    await clock.pass(400)
    queue.add('a')
    await clock.pass(1_000)
    expect(log).toEqual(['a@0', 'a@400', 'a@1400'])
  })

  test('pauses during an outage, counts no failure, and loses no key', async () => {
    const { queue, clock, log, failing } = queueUnderTest({ workers: 2 })
    for (const key of ['a', 'b', 'c']) {
      failing.set(key, new Away())
      queue.add(key)
    }
    await clock.pass(60_000)
    // Two workers probe at each end of a pause that grows to four seconds.
    expect(log.length).toBeLessThan(2 * (6 + 60 / 4))
    expect(queue.stats().retries).toBe(0)

    failing.clear()
    log.length = 0
    await clock.pass(4_000)
    expect(new Set(log.map((entry) => entry.split('@')[0]))).toEqual(new Set(['a', 'b', 'c']))
  })

  test('prefers the front lane without starving the back lane', async () => {
    const { queue, clock, log, slow, open } = queueUnderTest()
    slow.add('first')
    queue.add('first')
    for (let n = 0; n < 4; n++) queue.add(`again${n}`, 'back')
    for (let n = 0; n < 6; n++) queue.add(`edit${n}`, 'front')
    // A key in the back lane changes.
    queue.add('again3', 'front')
    open.get('first')?.()
    await clock.pass(0)
    const order = log.map((entry) => entry.split('@')[0])
    expect(order.indexOf('edit1')).toBeLessThan(order.indexOf('again0'))
    expect(order.indexOf('again0')).toBeLessThan(order.indexOf('edit5'))
    expect(order.indexOf('again3')).toBeLessThan(order.indexOf('again2'))
    expect(order).toHaveLength(11)
  })

  test('finishes what has begun when it stops, and starts nothing more', async () => {
    const { queue, clock, log, slow, open } = queueUnderTest()
    slow.add('a')
    queue.add('a')
    queue.add('b')
    let stopped = false
    const stopping = queue.stop().finally(() => {
      stopped = true
    })
    await clock.pass(0)
    expect(stopped).toBe(false)
    open.get('a')?.()
    await stopping
    queue.add('c')
    await clock.pass(1_000)
    expect(log).toEqual(['a@0'])
  })

  test('reports how long the oldest key has waited', async () => {
    const { queue, clock, slow } = queueUnderTest()
    slow.add('a')
    queue.add('a')
    queue.add('b', 'back')
    await clock.pass(700)
    queue.add('b', 'front')
    expect(queue.stats()).toMatchObject({ ready: 1, running: 1, oldestMillis: 700 })
  })
})

test.each([
  { failures: 1, random: 0, expected: 100 },
  { failures: 1, random: 1, expected: 200 },
  { failures: 4, random: 0, expected: 800 },
  { failures: 12, random: 1, expected: 60_000 },
  { failures: 1_000_000, random: 0, expected: 30_000 },
])('backoff after $failures failures with random $random is $expected ms', ({ failures, random, expected }) => {
  expect(backoffMillis(failures, 200, 60_000, () => random)).toBe(expected)
})
