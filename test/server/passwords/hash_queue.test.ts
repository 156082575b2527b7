import { describe, expect, test } from 'vitest'
import { OAuthError } from '../../../server/http/oauth_error.ts'
import { createHashQueue } from '../../../server/passwords/hash_queue.ts'

// What the first estimate takes for two seconds.
const TWO_SECONDS = { memoryKiB: 4_000, iterations: 1_000, parallelism: 1 }
const tooMuch = (seconds: string) =>
  expect.objectContaining({ error: 'temporarily_unavailable', status: 503, headers: { 'Retry-After': seconds } })

const hashQueue = (options: { concurrency: number; maxSeconds: number; memoryKiB?: number }) =>
  createHashQueue({ memoryKiB: 1_000_000, ...options })

/** Work that ends when it is told to. */
function controlled() {
  const ends: (() => void)[] = []
  let running = 0
  let most = 0
  const work = async (): Promise<void> => {
    running += 1
    most = Math.max(most, running)
    await new Promise<void>((resolve) => ends.push(resolve))
    running -= 1
  }
  return { work, endOne: () => ends.shift()?.(), running: () => running, most: () => most }
}
const settle = () => new Promise((resolve) => setImmediate(resolve))

describe('a queue of hashes', () => {
  test('runs as many at a time as it is told, in the order of their coming', async () => {
    const queue = hashQueue({ concurrency: 2, maxSeconds: 100 })
    const { work, endOne, running, most } = controlled()
    const done: number[] = []
    const all = [1, 2, 3, 4, 5].map(async (number) => {
      await queue.enter('acme', TWO_SECONDS).run(work)
      done.push(number)
    })
    for (let left = 5; left > 0; left--) {
      await settle()
      expect(running()).toBe(Math.min(2, left))
      expect(queue.length()).toBe(left)
      endOne()
    }
    await Promise.all(all)
    expect(done).toEqual([1, 2, 3, 4, 5])
    expect(most()).toBe(2)
    expect(queue.length()).toBe(0)
  })

  test('refuses what would wait for longer than the bound', () => {
    const queue = hashQueue({ concurrency: 1, maxSeconds: 5 })
    queue.enter('acme', TWO_SECONDS)
    queue.enter('acme', TWO_SECONDS)
    expect(() => queue.enter('acme', TWO_SECONDS)).toThrow(tooMuch('5'))
    expect(() => queue.enter('acme', { ...TWO_SECONDS, memoryKiB: 1_000 })).not.toThrow()
  })

  test('counts what runs at the same time as one wait', () => {
    const queue = hashQueue({ concurrency: 2, maxSeconds: 5 })
    for (let entered = 0; entered < 5; entered++) queue.enter('acme', TWO_SECONDS)
    expect(() => queue.enter('acme', TWO_SECONDS)).toThrow(OAuthError)
  })

  test('accepts a hash longer than the bound when the queue is empty', () => {
    const queue = hashQueue({ concurrency: 1, maxSeconds: 1 })
    const place = queue.enter('acme', TWO_SECONDS)
    expect(() => queue.enter('acme', TWO_SECONDS)).toThrow(tooMuch('1'))
    place.leave()
    expect(() => queue.enter('acme', TWO_SECONDS)).not.toThrow()
  })

  test('gets a place back that is left, once', () => {
    const queue = hashQueue({ concurrency: 1, maxSeconds: 5 })
    const place = queue.enter('acme', TWO_SECONDS)
    place.leave()
    place.leave()
    expect(queue.length()).toBe(0)
  })

  test('gets a place back whose work failed, and goes on', async () => {
    const queue = hashQueue({ concurrency: 1, maxSeconds: 5 })
    const place = queue.enter('acme', TWO_SECONDS)
    await expect(place.run(() => Promise.reject(new Error('no memory')))).rejects.toThrow('no memory')
    place.leave()
    expect(queue.length()).toBe(0)
    expect(await queue.enter('acme', TWO_SECONDS).run(async () => 'hashed')).toBe('hashed')
  })

  test('learns from what hashes take: quick ones let more wait', async () => {
    const queue = hashQueue({ concurrency: 1, maxSeconds: 5 })
    for (let times = 0; times < 40; times++) await queue.enter('acme', TWO_SECONDS).run(async () => {})
    for (let entered = 0; entered < 20; entered++) queue.enter('acme', TWO_SECONDS)
    expect(queue.length()).toBe(20)
  })

  test('row 131: a realm with much waiting work does not keep the logins of another realm out', async () => {
    const queue = hashQueue({ concurrency: 1, maxSeconds: 5 })
    const { work, endOne } = controlled()
    const done: string[] = []
    const run = async (realm: string) => {
      await queue.enter(realm, TWO_SECONDS).run(work)
      done.push(realm)
    }
    const busy = [run('busy'), run('busy')]
    expect(() => queue.enter('busy', TWO_SECONDS)).toThrow(tooMuch('5'))
    const others = [run('acme'), run('other')]
    for (let left = 4; left > 0; left--) {
      await settle()
      endOne()
    }
    await Promise.all([...busy, ...others])
    expect(done).toEqual(['busy', 'acme', 'other', 'busy'])
  })

  test('hashes that need more memory together than there is run one after the other', async () => {
    const queue = hashQueue({ concurrency: 4, maxSeconds: 100, memoryKiB: 10_000 })
    const { work, endOne, running, most } = controlled()
    const all = Array.from({ length: 6 }, () => queue.enter('acme', TWO_SECONDS).run(work))
    await settle()
    expect(running()).toBe(2)
    for (let left = 6; left > 0; left--) {
      await settle()
      endOne()
    }
    await Promise.all(all)
    expect(most()).toBe(2)
  })
})
