import { randomBytes } from 'node:crypto'
import type { PasswordHashing } from '../../store/realms.ts'

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
