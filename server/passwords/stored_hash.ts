import { randomBytes } from 'node:crypto'
import type { PasswordHashing } from '../../store/realms.ts'

/** The most that a stored hash may ask for: a row that says 2 GiB must not stop everybody's logins. */
const MOST: PasswordHashing = { memoryKiB: 262_144, iterations: 64, parallelism: 8 }

// The order of the parameters is the writer's; the reference implementation and the package that is used here differ.
const PHC =
  /^\$argon2id\$v=19\$([mtp]=\d{1,7}),([mtp]=\d{1,7}),([mtp]=\d{1,7})\$[A-Za-z0-9+/]{11,86}\$[A-Za-z0-9+/]{22,86}$/

/** The parameters of an argon2id hash in PHC text; undefined for whatever must not be given to the hash function. */
export function hashParameters(stored: string): PasswordHashing | undefined {
  const given = new Map(
    PHC.exec(stored)
      ?.slice(1)
      .map((text) => [text[0], Number(text.slice(2))]),
  )
  const [memoryKiB = 0, iterations = 0, parallelism = 0] = [given.get('m'), given.get('t'), given.get('p')]
  if (iterations < 1 || parallelism < 1 || memoryKiB < 8 * parallelism) return undefined
  const isBounded = memoryKiB <= MOST.memoryKiB && iterations <= MOST.iterations && parallelism <= MOST.parallelism
  return isBounded ? { memoryKiB, iterations, parallelism } : undefined
}

export function sameParameters(one: PasswordHashing, other: PasswordHashing): boolean {
  return (
    one.memoryKiB === other.memoryKiB && one.iterations === other.iterations && one.parallelism === other.parallelism
  )
}

/** A hash that no password has, at the cost of a real one: what unknown users are compared with. */
export function nobodysHash({ memoryKiB, iterations, parallelism }: PasswordHashing): string {
  const [salt, digest] = [randomBytes(16), randomBytes(32)].map((bytes) => bytes.toString('base64').replace(/=+$/, ''))
  return `$argon2id$v=19$m=${memoryKiB},t=${iterations},p=${parallelism}$${salt}$${digest}`
}
