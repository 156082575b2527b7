import { availableParallelism } from 'node:os'
import argon2 from 'argon2'
import type { PasswordHashing } from '../store/realms.ts'

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

// The order of the parameters is the library's choice.
const PHC =
  /^\$argon2id\$v=19\$([mtp]=\d{1,7}),([mtp]=\d{1,7}),([mtp]=\d{1,7})\$[A-Za-z0-9+/]{11,86}\$[A-Za-z0-9+/]{22,86}$/

/**
 * Whether a stored hash is one that a realm could have asked for. Anything else (another algorithm, cut off, two
 * gigabytes of memory) is made anew from the Secret, and never computed.
 */
export function isUsableHash(text: string): boolean {
  const given = new Map(
    PHC.exec(text)
      ?.slice(1)
      .map((parameter) => [parameter[0], Number(parameter.slice(2))]),
  )
  const [memory = 0, iterations = 0, parallelism = 0] = ['m', 't', 'p'].map((name) => given.get(name))
  return (
    memory >= 1_024 &&
    memory <= 262_144 &&
    iterations >= 1 &&
    iterations <= 64 &&
    memory * iterations <= 2_097_152 &&
    parallelism >= 1 &&
    parallelism <= 8
  )
}
