import { expect, test } from 'vitest'
import { isUsableHash, passwordHasher } from '../../operator/password_hash.ts'

const SALT_AND_HASH = '$c2FsdHNhbHRzYWx0c2Fs$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNoaGFzaGhhc2g'

test('a hash that was just made can be used, and is the password’s', async () => {
  const hasher = passwordHasher(1)
  const hash = await hasher.hash('correct horse', { memoryKiB: 1024, iterations: 2, parallelism: 1 })
  expect(isUsableHash(hash)).toBe(true)
  expect(await hasher.matches(hash, 'correct horse')).toBe(true)
  expect(await hasher.matches(hash, 'wrong horse')).toBe(false)
})

test.each([
  ['as a realm asks for by default', `$argon2id$v=19$m=7168,t=5,p=1${SALT_AND_HASH}`, true],
  ['with its parameters in another order', `$argon2id$v=19$m=7168,p=1,t=5${SALT_AND_HASH}`, true],
  ['empty', '', false],
  ['cut off', '$argon2id$v=19$m=7168,t=5,p=1$c2FsdHNhbHRzYWx0c2Fs$', false],
  ['of another algorithm', '$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy', false],
  ['argon2i', `$argon2i$v=19$m=7168,t=5,p=1${SALT_AND_HASH}`, false],
  ['of two gigabytes', `$argon2id$v=19$m=2097152,t=5,p=1${SALT_AND_HASH}`, false],
  ['of too many passes', `$argon2id$v=19$m=7168,t=2000,p=1${SALT_AND_HASH}`, false],
  ['of much memory and many passes', `$argon2id$v=19$m=262144,t=64,p=1${SALT_AND_HASH}`, false],
  ['with a parameter twice', `$argon2id$v=19$m=7168,m=7168,t=5${SALT_AND_HASH}`, false],
])('row 25: a stored hash %s', (_what, hash, usable) => {
  expect(isUsableHash(hash)).toBe(usable)
})

test('at most as many hashes as allowed run at a time, and all of them run', async () => {
  const hasher = passwordHasher(2)
  const hashes = await Promise.all(
    Array.from({ length: 9 }, (_, n) =>
      hasher.hash(`password ${n}`, { memoryKiB: 1024, iterations: 1, parallelism: 1 }),
    ),
  )
  expect(new Set(hashes).size).toBe(9)
  await expect(hasher.matches('no hash', 'x')).rejects.toThrow()
  expect(await hasher.matches(hashes[8] ?? '', 'password 8')).toBe(true)
})
