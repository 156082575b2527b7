import { expect, test } from 'vitest'
import { passwordHasher } from '../../../operator/user/password_hash.ts'
import { hashParameters } from '../../../store/password_hash.ts'

test('a hash has valid parameters and matches its password', async () => {
  const hasher = passwordHasher(1)
  const hash = await hasher.hash('acme', 'correct horse', { memoryKiB: 1024, iterations: 2, parallelism: 1 })
  expect(hashParameters(hash)).toEqual({ memoryKiB: 1024, iterations: 2, parallelism: 1 })
  expect(await hasher.matches('acme', hash, 'correct horse')).toBe(true)
  expect(await hasher.matches('acme', hash, 'wrong horse')).toBe(false)
})

test('more hashes than run at a time all complete', async () => {
  const hasher = passwordHasher(2)
  const hashes = await Promise.all(
    Array.from({ length: 9 }, (_, n) =>
      hasher.hash('acme', `password ${n}`, { memoryKiB: 1024, iterations: 1, parallelism: 1 }),
    ),
  )
  expect(new Set(hashes).size).toBe(9)
  expect(await hasher.matches('acme', 'no hash', 'x')).toBe(false)
  expect(await hasher.matches('acme', hashes[8] ?? '', 'password 8')).toBe(true)
})
