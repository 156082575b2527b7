import { availableParallelism } from 'node:os'
import argon2 from 'argon2'
import type { PasswordHashing } from '../../store/realms.ts'

/** Makes and checks argon2id hashes, at most one a core at a time: more at once is slower, and starves the rest. */
export interface PasswordHasher {
  /** PHC text. */
  hash(password: string, parameters: PasswordHashing): Promise<string>
  matches(hash: string, password: string): Promise<boolean>
}

export function passwordHasher(atOnce = availableParallelism()): PasswordHasher {
  let free = atOnce
  const waiting: (() => void)[] = []

  async function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else free += 1
    }
  }

  return {
    hash: (password, { memoryKiB, iterations, parallelism }) =>
      inTurn(() =>
        argon2.hash(password, { type: argon2.argon2id, memoryCost: memoryKiB, timeCost: iterations, parallelism }),
      ),
    matches: (hash, password) => inTurn(() => argon2.verify(hash, password)),
  }
}
