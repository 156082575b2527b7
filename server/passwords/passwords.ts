import { randomBytes } from 'node:crypto'
import argon2 from 'argon2'
import type { Logger } from 'pino'
import type { PasswordHashing } from '../../store/realms.ts'
import { hashCost, memoryForHashes } from '../../process/fair_limit.ts'
import { hashParameters, MOST, withinBounds } from '../../store/password_hash.ts'
import { createHashQueue } from './hash_queue.ts'
import { textOf } from './parameters_in_use.ts'
import type { ParametersInUse } from './parameters_in_use.ts'

/** The check of one password, with a place in the queue. */
export interface PasswordCheck {
  /**
   * Whether the password has this hash; false without a usable one. Computes one hash with each of the parameters that
   * hashes of the realm have, this one among them and dummies for the others, so that the time is the same for every
   * name, also after the realm's parameters changed.
   */
  verify(stored: string | null | undefined, password: string): Promise<boolean>
  /** Gives up the place in the queue unless `verify` was called. */
  leave(): void
}

export interface Passwords {
  /** Reserves a place in the queue. @throws OAuthError 503 when too many hashes wait */
  enter(realm: string, parameters: PasswordHashing): PasswordCheck
  /**
   * A new hash when `stored` has other parameters than these, lowered to the bounds of this version; undefined when it
   * has them or too many hashes wait.
   */
  renew(realm: string, stored: string, password: string, parameters: PasswordHashing): Promise<string | undefined>
  /** How many checks wait or run. */
  length: () => number
}

const MAX_WAIT_SECONDS = 5

/** Threads of libuv's pool that hashes leave to signatures and file reads. */
const FREE_THREADS = 2

/** How many hashes run at a time: more than one for each core makes all of them slower. */
export function hashConcurrency(cores: number, poolThreads: number): number {
  return Math.max(1, Math.min(cores, poolThreads - FREE_THREADS))
}

export interface PasswordsOptions {
  concurrency: number
  inUse: ParametersInUse
  log: Logger
}

/** Checks passwords of logins: argon2id, compared in NFC, `concurrency` at a time. */
export function createPasswords({ concurrency, inUse, log }: PasswordsOptions): Passwords {
  const memoryKiB = memoryForHashes(MOST.memoryKiB)
  const queue = createHashQueue({ concurrency, memoryKiB, maxSeconds: MAX_WAIT_SECONDS })

  async function compute(stored: string, password: string): Promise<boolean> {
    try {
      return await argon2.verify(stored, password.normalize('NFC'))
    } catch (error) {
      log.error({ err: error }, 'a password hash could not be computed')
      return false
    }
  }

  return {
    length: () => queue.length(),
    enter(realm, ofRealm) {
      const parameters = withinBounds(ofRealm)
      const reservation = queue.enter(realm, parameters)
      return {
        leave: () => reservation.leave(),
        async verify(stored, password) {
          const own = typeof stored === 'string' ? hashParameters(stored) : undefined
          if (typeof stored === 'string' && !own) {
            log.error('a stored password hash is damaged or exceeds the allowed parameters: its user cannot log in')
          }
          const hashes = new Map(
            (await inUse(realm, parameters)).map((each) => [textOf(each), { ...each, hash: dummyHash(each) }]),
          )
          if (typeof stored === 'string' && own) hashes.set(textOf(own), { ...own, hash: stored })
          return reservation.run(
            async () => {
              let isRight = false
              for (const { hash } of hashes.values()) {
                const matches = await compute(hash, password)
                if (hash === stored) isRight = matches
              }
              return isRight
            },
            hashCost(...hashes.values()),
          )
        },
      }
    },
    async renew(realm, stored, password, ofRealm) {
      const parameters = withinBounds(ofRealm)
      const { memoryKiB: memoryCost, iterations: timeCost, parallelism } = parameters
      const cost = { memoryCost, timeCost, parallelism }
      if (!hashParameters(stored) || !argon2.needsRehash(stored, cost)) return undefined
      const hash = (): Promise<string> =>
        argon2.hash(password.normalize('NFC'), { type: argon2.argon2id, ...cost, hashLength: 32 })
      try {
        return await queue.enter(realm, parameters).run(hash)
      } catch {
        // The next login tries again.
        return undefined
      }
    },
  }
}

/** A hash that no password has, at the cost of a real one. */
function dummyHash(parameters: PasswordHashing): string {
  const [salt, digest] = [randomBytes(16), randomBytes(32)].map((bytes) => bytes.toString('base64').replace(/=+$/, ''))
  return `$argon2id$v=19$${textOf(parameters)}$${salt}$${digest}`
}
