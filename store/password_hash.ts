import type { PasswordHashing } from './realms.ts'

/** The bounds of the Realm's schema: a hash that needs 2 GiB must not block all logins. */
const LEAST: PasswordHashing = { memoryKiB: 1_024, iterations: 1, parallelism: 1 }
const MOST: PasswordHashing = { memoryKiB: 262_144, iterations: 64, parallelism: 8 }
const MOST_WORK = 2_097_152

// Implementations differ in the order of the parameters.
const PHC =
  /^\$argon2id\$v=19\$([mtp]=\d{1,7}),([mtp]=\d{1,7}),([mtp]=\d{1,7})\$[A-Za-z0-9+/]{11,86}\$[A-Za-z0-9+/]{22,86}$/

/**
 * The parameters of an argon2id hash in PHC text. Undefined for a text that no realm's settings produce (another
 * algorithm, truncated, two gigabytes of memory), which must not reach the hash function.
 */
export function hashParameters(stored: string): PasswordHashing | undefined {
  const given = new Map(
    PHC.exec(stored)
      ?.slice(1)
      .map((text) => [text[0], Number(text.slice(2))]),
  )
  const [memoryKiB = 0, iterations = 0, parallelism = 0] = ['m', 't', 'p'].map((name) => given.get(name))
  const isBounded =
    isWithin(memoryKiB, LEAST.memoryKiB, MOST.memoryKiB) &&
    isWithin(iterations, LEAST.iterations, MOST.iterations) &&
    isWithin(parallelism, LEAST.parallelism, MOST.parallelism) &&
    memoryKiB * iterations <= MOST_WORK
  return isBounded ? { memoryKiB, iterations, parallelism } : undefined
}

function isWithin(value: number, least: number, most: number): boolean {
  return value >= least && value <= most
}
