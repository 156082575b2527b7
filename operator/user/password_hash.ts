import { availableParallelism } from 'node:os'
import argon2 from 'argon2'
import pLimit from 'p-limit'
import type { PasswordHashing } from '../../store/realms.ts'

export interface PasswordHasher {
  /** An argon2id hash in PHC format. */
  hash(password: string, parameters: PasswordHashing): Promise<string>
  matches(hash: string, password: string): Promise<boolean>
}

/** Runs at most `concurrency` hashes at a time, one per core by default: more at once take longer in total. */
export function passwordHasher(concurrency = availableParallelism()): PasswordHasher {
  const limit = pLimit(concurrency)
  return {
    hash: (password, { memoryKiB, iterations, parallelism }) =>
      limit(() =>
        argon2.hash(password, { type: argon2.argon2id, memoryCost: memoryKiB, timeCost: iterations, parallelism }),
      ),
    matches: (hash, password) => limit(() => argon2.verify(hash, password)),
  }
}
