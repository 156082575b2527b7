import { expect, test } from 'vitest'
import { hashParameters, withinBounds } from '../../store/password_hash.ts'

const SALT_AND_HASH = '$c2FsdHNhbHRzYWx0c2Fs$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNoaGFzaGhhc2g'

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
  ['of less memory than a realm may ask for', `$argon2id$v=19$m=1023,t=5,p=1${SALT_AND_HASH}`, false],
  ['of no lane', `$argon2id$v=19$m=7168,t=5,p=0${SALT_AND_HASH}`, false],
])('row 25: a stored hash %s', (_what, hash, usable) => {
  expect(hashParameters(hash) !== undefined).toBe(usable)
})

test.for([
  [
    { memoryKiB: 7_168, iterations: 5, parallelism: 1 },
    { memoryKiB: 7_168, iterations: 5, parallelism: 1 },
  ],
  [
    { memoryKiB: 262_144, iterations: 8, parallelism: 8 },
    { memoryKiB: 65_536, iterations: 8, parallelism: 8 },
  ],
  [
    { memoryKiB: 32_768, iterations: 64, parallelism: 1 },
    { memoryKiB: 32_768, iterations: 16, parallelism: 1 },
  ],
] as const)('%o is hashed with %o', ([stored, used]) => {
  expect(withinBounds(stored)).toEqual(used)
})
