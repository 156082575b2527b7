import type { PasswordHashing } from './realms.ts'

/** The bounds of the Realm's schema: what two hashes at a time may take of a process with 512 MiB. */
const LEAST: PasswordHashing = { memoryKiB: 1_024, iterations: 1, parallelism: 1 }
export const MOST: PasswordHashing = { memoryKiB: 65_536, iterations: 64, parallelism: 8 }
/** KiB times passes: a quarter of a second of one core. */
const MOST_WORK = 524_288

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

/**
 * These parameters, lowered to the bounds. A Realm may exceed them that was stored under the wider bounds of a former
 * version, because the API server does not validate again what an update leaves alone.
 */
export function withinBounds({ memoryKiB, iterations, parallelism }: PasswordHashing): PasswordHashing {
  const memory = Math.min(memoryKiB, MOST.memoryKiB)
  return {
    memoryKiB: memory,
    iterations: Math.min(iterations, Math.max(1, Math.floor(MOST_WORK / memory))),
    parallelism: Math.min(parallelism, MOST.parallelism),
  }
}

function isWithin(value: number, least: number, most: number): boolean {
  return value >= least && value <= most
}
