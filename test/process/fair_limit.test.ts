import { expect, test } from 'vitest'
import { createFairLimit, memoryForHashes } from '../../process/fair_limit.ts'

const settle = () => new Promise((resolve) => setImmediate(resolve))

/** Starts work that ends with `end`, and notes the order of the starts. */
function recorder(limit: ReturnType<typeof createFairLimit>) {
  const started: string[] = []
  const ends: (() => void)[] = []
  return {
    started,
    run: (realm: string, cost: { memoryKiB: number; work: number }) =>
      limit.run(realm, cost, async () => {
        started.push(realm)
        await new Promise<void>((resolve) => ends.push(resolve))
      }),
    endAll: async () => {
      for (await settle(); ends.length > 0; await settle()) ends.shift()?.()
    },
  }
}

test('realms come in turn, by the work that was started for each', async () => {
  const { run, started, endAll } = recorder(createFairLimit({ count: 1, memoryKiB: 100 }))
  const all = [
    ...Array.from({ length: 3 }, () => run('costly', { memoryKiB: 1, work: 10 })),
    ...Array.from({ length: 12 }, () => run('cheap', { memoryKiB: 1, work: 2 })),
  ]
  await endAll()
  await Promise.all(all)
  // Five cheap ones are as much work as a costly one.
  expect(started.join(' ')).toBe(
    'costly cheap cheap cheap cheap cheap costly cheap cheap cheap cheap cheap costly cheap cheap',
  )
})

test('a realm that comes late has no claim on the time before', async () => {
  const { run, started, endAll } = recorder(createFairLimit({ count: 1, memoryKiB: 100 }))
  const cost = { memoryKiB: 1, work: 1 }
  const early = Array.from({ length: 20 }, () => run('early', cost))
  await settle()
  const late = Array.from({ length: 20 }, () => run('late', cost))
  await endAll()
  await Promise.all([...early, ...late])
  expect(started.slice(0, 8).filter((realm) => realm === 'late').length).toBeLessThanOrEqual(5)
})

test('work that needs more memory than there is runs alone, and is not overtaken', async () => {
  const limit = createFairLimit({ count: 4, memoryKiB: 10 })
  const { run, started, endAll } = recorder(limit)
  const all = [
    run('a', { memoryKiB: 4, work: 1 }),
    run('b', { memoryKiB: 100, work: 1 }),
    run('c', { memoryKiB: 4, work: 1 }),
  ]
  await settle()
  expect(started).toEqual(['a'])
  await endAll()
  await Promise.all(all)
  expect(started).toEqual(['a', 'b', 'c'])
})

test('work that fails gives its place back', async () => {
  const limit = createFairLimit({ count: 1, memoryKiB: 10 })
  const failing = () => limit.run('a', { memoryKiB: 10, work: 1 }, () => Promise.reject(new Error('no')))
  for (let times = 0; times < 3; times++) await expect(failing()).rejects.toThrow('no')
  expect(await limit.run('b', { memoryKiB: 10, work: 1 }, async () => 'done')).toBe('done')
})

test('hashes get at least the memory of one', () => {
  expect(memoryForHashes(Number.MAX_SAFE_INTEGER)).toBe(Number.MAX_SAFE_INTEGER)
  expect(memoryForHashes(1)).toBeGreaterThan(1)
})
