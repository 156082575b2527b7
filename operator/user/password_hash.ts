import { availableParallelism } from 'node:os'
import argon2 from 'argon2'
import { createFairLimit, hashCost, memoryForHashes } from '../../process/fair_limit.ts'
import { hashParameters, MOST, withinBounds } from '../../store/password_hash.ts'
import type { PasswordHashing } from '../../store/realms.ts'

export interface PasswordHasher {
  /** An argon2id hash in PHC format, with these parameters lowered to the bounds of this version. */
  hash(realm: string, password: string, parameters: PasswordHashing): Promise<string>
  /** False also for a hash that `hashParameters` refuses. */
  matches(realm: string, hash: string, password: string): Promise<boolean>
}

/**
 * Bounds the hashes that run at a time, by memory and by count (one for each core: more at once take longer in total),
 * and takes them from the realms in turn.
 */
export function passwordHasher(concurrency = availableParallelism()): PasswordHasher {
  const limit = createFairLimit({ count: concurrency, memoryKiB: memoryForHashes(MOST.memoryKiB) })
  return {
    hash(realm, password, parameters) {
      const used = withinBounds(parameters)
      const { memoryKiB: memoryCost, iterations: timeCost, parallelism } = used
      return limit.run(realm, hashCost(used), () =>
        argon2.hash(password, { type: argon2.argon2id, memoryCost, timeCost, parallelism }),
      )
    },
    async matches(realm, hash, password) {
      const parameters = hashParameters(hash)
      return parameters !== undefined && limit.run(realm, hashCost(parameters), () => argon2.verify(hash, password))
    },
  }
}
